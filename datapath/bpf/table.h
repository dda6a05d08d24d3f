/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tables whose address programs know: each is the only element of an array that is as large as the whole table, so there
 * is no lookup, and a section of data here, which the loader puts onto that map (loader/section.c, docs/adr/0216).
 * The section itself holds one row. How many rows there are is a constant, or the loader tells.
 */
#ifndef WEIR_BPF_TABLE_H
#define WEIR_BPF_TABLE_H

#ifndef WEIR_SECTION_ROWS
#define WEIR_SECTION_ROWS 1
#endif

#define WEIR_TABLE(type, name) type name[WEIR_SECTION_ROWS] SEC(".data." #name)

#ifdef __bpf__
#define weir_address(name, row) asm volatile("%0 = " #name " ll" : "=r"(row))
#else
#define weir_address(name, row) (row = (name)) /* tests/clock_shim.c */
#endif

/*
 * A row that the table has. The compiler is neither to know that the section ends after the first, nor how the address
 * came about: it would keep it in parts, and put them together for each field.
 */
#define weir_row(name, index)                                                                                \
	({                                                                                                   \
		typeof(&(name)[0]) row;                                                                      \
		weir_address(name, row);                                                                     \
		row += (index);                                                                              \
		asm volatile("" : "+r"(row));                                                                \
		if (!row)                                                                                    \
			__builtin_unreachable();                                                             \
		row;                                                                                         \
	})

/* NULL: the table has no such row. What is compared is what is then used, or the verifier would not see the bound. */
#define weir_row_below(name, index, rows)                                                                    \
	({                                                                                                   \
		__u64 at = (__u32)(index);                                                                   \
		asm volatile("" : "+r"(at));                                                                 \
		at < (rows) ? weir_row(name, at) : NULL;                                                     \
	})

#endif
