// SPDX-License-Identifier: LGPL-2.1 OR MIT

// peer_go.go - what Go's scheduler takes for what sched_bench does.
//
//	go/yield2/P	two goroutines that yield to each other: one runtime.Gosched()
//	go/yield/P	64 of them
//	go/spawn/P	8 that start one and wait for its end, one after the other: both
//
// P is how many run at a time, GOMAXPROCS. Time of the clock divided by the operations of
// all, and as cpu/NAME the CPU time of all threads, the collector's among them. BENCH_OPS, BENCH_RUNS and BENCH_ONLY are those of sched_bench.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

func number(name string, usual int) int {
	n, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		return usual
	}
	return n
}

// As bench_wanted() in bench.h.
func wanted(name string) bool {
	only := os.Getenv("BENCH_ONLY")
	if strings.HasSuffix(only, "$") {
		return name == strings.TrimSuffix(only, "$")
	}
	return strings.Contains(name, only)
}

// Nanoseconds of CPU time that the process has used.
func cpuTime() int64 {
	var r syscall.Rusage

	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return r.Utime.Nano() + r.Stime.Nano()
}

func yields(n int) {
	for ; n > 0; n-- {
		runtime.Gosched()
	}
}

// A WaitGroup is what waits for an end at the least cost.
func spawns(n int) {
	var end sync.WaitGroup

	for ; n > 0; n-- {
		end.Add(1)
		go end.Done()
		end.Wait()
	}
}

type storm struct {
	name   string
	actors int
	main   func(n int)
}

func measure(s storm, threads int, ops int) {
	name := fmt.Sprintf("go/%s/%d", s.name, threads)
	if !wanted(name) {
		return
	}
	var end sync.WaitGroup

	runtime.GOMAXPROCS(threads)
	start := time.Now()
	cpu := cpuTime()
	for i := 0; i < s.actors; i++ {
		end.Add(1)
		go func() {
			s.main(ops / s.actors)
			end.Done()
		}()
	}
	end.Wait()
	cpu = cpuTime() - cpu
	done := float64(ops / s.actors * s.actors)
	fmt.Printf("%s\t%.2f\n", name, float64(time.Since(start).Nanoseconds())/done)
	fmt.Printf("cpu/%s\t%.2f\n", name, float64(cpu)/done)
}

func main() {
	ops := number("BENCH_OPS", 200000)

	for runs := number("BENCH_RUNS", 5); runs > 0; runs-- {
		for _, s := range []storm{
			{"yield2", 2, yields},
			{"yield", 64, yields},
			{"spawn", 8, spawns},
		} {
			measure(s, 1, ops)
			measure(s, 2, ops)
		}
	}
}
