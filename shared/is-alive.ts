/** Whether a process of this number runs; it may be somebody else's by now. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // There, but not ours to signal.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
