/* Text as a YAML scalar. */
#ifndef SPUR_CLI_YAML_H
#define SPUR_CLI_YAML_H

#include "base/out.h"

/*
 * As LLVM's tools write it: plain where it can be, else in single quotes; in double quotes where a byte is no printable
 * ASCII. A byte that is no UTF-8 becomes U+FFFD: YAML has no way to write it.
 */
void yaml_scalar(struct out *o, const char *s, size_t len);

#endif
