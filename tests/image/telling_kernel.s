# SPDX-License-Identifier: Apache-2.0
# The smallest "Linux" that a boot loader starts: it says on the serial line what it was told, and halts.
# Offsets are those of Documentation/arch/x86/boot.rst; the boot loader jumps to `entry` in 32-bit mode with the boot
# parameters in ESI.

	.code32
	.set	serial, 0x3f8
	.set	transmitter_is_empty, 0x20

	.org	0x1f1
	.byte	1			# setup_sects: what follows this one
	.org	0x1f4
	.long	(end - entry) / 16	# syssize
	.org	0x1fe
	.word	0xaa55
	.word	0			# jump: nobody starts it in real mode
	.ascii	"HdrS"
	.word	0x0206			# version of the protocol
	.org	0x211
	.byte	1			# loadflags: loaded high
	.org	0x214
	.long	0x100000		# code32_start
	.org	0x22c
	.long	0x7fffffff		# initrd_addr_max
	.org	0x238
	.long	2047			# cmdline_size

	.org	0x400
entry:
	mov	0x228(%esi), %ebx	# cmd_line_ptr
	mov	0x218(%esi), %edi	# ramdisk_image
	call	1f
1:	pop	%esi
	add	$(words - 1b), %esi
	call	say
	mov	%ebx, %esi
	call	say
	test	%edi, %edi
	je	2f
	call	1f
1:	pop	%esi
	add	$(before_initrd - 1b), %esi
	call	say
	mov	%edi, %esi		# text that ends with a zero, in these tests
	call	say
2:	call	1f
1:	pop	%esi
	add	$(end_of_line - 1b), %esi
	call	say
2:	hlt
	jmp	2b

say:
	lodsb
	test	%al, %al
	je	2f
	mov	%al, %ah
1:	mov	$(serial + 5), %dx
	in	%dx, %al
	test	$transmitter_is_empty, %al
	je	1b
	mov	$serial, %dx
	mov	%ah, %al
	out	%al, %dx
	jmp	say
2:	ret

words:
	.asciz	"Command line: "
before_initrd:
	.asciz	" initrd: "
end_of_line:
	.asciz	" \r\n"
	.balign	16
end:
