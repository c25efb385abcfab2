#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# sparse, for kernels whose headers use what sparse 0.6.4 does not know: an operator
# of C23, and the length of a literal as a constant.
#
#   make ... C=2 CHECK=tools/check/sparse.sh

exec sparse -D__typeof_unqual__=__typeof__ '-D__builtin_strlen(s)=(sizeof(s)-1)' "$@"
