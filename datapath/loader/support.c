// SPDX-License-Identifier: Apache-2.0
/* Errors as sentences, silence of libbpf, and growing lists. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <bpf/libbpf.h>

#include "internal.h"

static _Thread_local char weir_error_text[512];

const char *weir_error(void)
{
	return weir_error_text;
}

int weir_fail(int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(weir_error_text, sizeof(weir_error_text), format, arguments);
	va_end(arguments);
	return -error;
}

int weir_own_namespace(uint32_t *inode)
{
	struct stat own;

	if (stat("/proc/thread-self/ns/net", &own))
		return weir_fail(errno, "the network namespace is not known: %s", strerror(errno));
	*inode = own.st_ino;
	return 0;
}

int weir_silent(enum libbpf_print_level level, const char *format, va_list arguments)
{
	(void)level;
	(void)format;
	(void)arguments;
	return 0;
}

void *weir_list_add(struct weir_list *list, size_t size)
{
	if (list->count == list->capacity) {
		size_t capacity = list->capacity ? list->capacity * 2 : 64;
		void *items = realloc(list->items, capacity * size);

		if (!items)
			return NULL;
		list->items = items;
		list->capacity = capacity;
		list->size = size;
	}
	return (char *)list->items + list->count++ * size;
}

void weir_list_free(struct weir_list *list)
{
	free(list->items);
	memset(list, 0, sizeof(*list));
}
