import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

let microsPerTick: number | undefined

/** CPU time a process has used so far, in and out of the kernel, in µs. Linux; steps of 10 ms on most machines. */
export function processCpuMicros(pid: number): number {
  microsPerTick ??= 1_000_000 / Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  // The second field is the program's name in brackets and may hold spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * microsPerTick
}
