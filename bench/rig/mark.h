/* SPDX-License-Identifier: Apache-2.0 */
/* No-ops of x86 by which the rig tells the emulator's plugin (touched.c) what it measures: `nopl DISPLACEMENT(%rax)`. */
#ifndef WEIR_RIG_MARK_H
#define WEIR_RIG_MARK_H

#define WEIR_MARK_BEGIN 0x0f, 0x1f, 0x80, 'w', 'e', 'i', 'B'
#define WEIR_MARK_END 0x0f, 0x1f, 0x80, 'w', 'e', 'i', 'E'
#define WEIR_MARK(...) WEIR_MARK_BYTES(__VA_ARGS__)
#define WEIR_MARK_BYTES(...) ".byte " #__VA_ARGS__

#endif
