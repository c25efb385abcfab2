#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""What profile.sh prints: profile.py FOLDER SHORT LONG."""
import bisect
import collections
import sys

KERNEL = 1 << 63


def kernel_symbols(path):
    found = []
    with open(path) as f:
        for line in f:
            words = line.split()
            if words[1] in 'tTwW':
                found.append((int(words[0], 16), ' '.join(words[2:])))
    return sorted(found)


def server_symbols(folder, run):
    """The server's functions, where that run has loaded them."""
    with open(f'{folder}/{run}/server.map') as f:
        start, offset = (int(w, 16) for w in f.readline().split())
    found = []
    with open(f'{folder}/server.syms') as f:
        for line in f:
            words = line.split()
            if len(words) == 3 and words[1] in 'tT':
                found.append((int(words[0], 16), words[2]))
    # a position-independent program counts from its beginning
    if min(found)[0] < start:
        found = [(address - offset + start, name) for address, name in found]
    found.append((0, '(client, C library)'))
    found.sort()
    found.append((found[-1][0] + 4096, '(client, C library)'))
    return found


def load(folder, run):
    """Instructions and entries by function."""
    kernel = kernel_symbols(f'{folder}/{run}/kernel.syms')
    server = server_symbols(folder, run)
    instructions = collections.Counter()
    entries = collections.Counter()
    with open(f'{folder}/{run}/blocks') as f:
        for line in f:
            words = line.split()
            address, length, count = int(words[0], 16), int(words[1]), int(words[2])
            symbols = kernel if address >= KERNEL else server
            at = bisect.bisect_right(symbols, (address, '\x7f')) - 1
            name = symbols[at][1]
            instructions[name] += length * count
            if symbols[at][0] == address:
                entries[name] += count
    return instructions, entries


def main():
    folder, short, long = sys.argv[1:4]
    few, few_entries = load(folder, short)
    many, many_entries = load(folder, long)
    requests = int(long) - int(short)
    rows = [((many[name] - few[name]) / requests,
             (many_entries[name] - few_entries[name]) / requests, name)
            for name in many]
    rows.sort(reverse=True)
    print(f'{sum(row[0] for row in rows):10.0f}           instructions a request')
    for cost, calls, name in rows:
        if cost >= 1:
            print(f'{cost:10.1f} {calls:9.2f} {name}')


main()
