/* Text as a YAML scalar. */
#ifndef SPUR_CLI_YAML_H
#define SPUR_CLI_YAML_H

#include "base/out.h"

/*
 * Writes a scalar as LLVM's tools do: plain if possible, else in single quotes; in double quotes if
 * a byte is not printable ASCII. Bytes that are not UTF-8 become U+FFFD, as YAML cannot represent
 * them.
 */
void yaml_scalar(struct out *o, const char *s, size_t len);

#endif
