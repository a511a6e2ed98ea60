/* Byte strings of Python that are put in the place of others: objects.c. */
#ifndef STILLFLOW_OBJECTS_H
#define STILLFLOW_OBJECTS_H

#include "native.h"

/* Puts a string of these bytes in the place of an object; returns whether there is memory, which
   Python knows if there is none. */
int put_string(void **place, const uint8_t *text, int64_t size);

/* Puts a string there whose bytes are to be written; returns where, or NULL without memory. */
uint8_t *new_string(void **place, int64_t size);

#endif
