/* Colors of changes as llvm-xray chooses them. */
#ifndef SPUR_STYLE_LLVM_XRAY_DIFF_COLOR_H
#define SPUR_STYLE_LLVM_XRAY_DIFF_COLOR_H

#include <stdint.h>

/*
 * Returns 0xrrggbb for a change from -1 (purple, less) by 0 (nearly white) to 1 (green, more); red
 * below -1, bright green above 1.
 */
uint32_t change_color(double change);

#endif
