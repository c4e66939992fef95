import type { RunRecord } from '#store/runs.ts';

/** What a runner or a scanner can't blame on the repository. */
const OWN_FAULTS = new Set(['internal_error', 'scanner_not_installed', 'scanner_failed']);

/**
 * Whether a run that ended with these codes failed through the service. Not where nothing could be cloned,
 * where a scan took longer than its tier allows, or a report is not what its sender says: that is told to
 * whoever asked, and no reason to wake anybody.
 * @param run as it was before its end
 */
export function isServiceFault(run: RunRecord, codes: readonly string[]): boolean {
  const isImport = run.slots === 0;
  return codes.some(
    (code) =>
      OWN_FAULTS.has(code) ||
      // A scanner that prints rubbish is ours; a report that somebody sends is theirs.
      (code === 'report_invalid' && !isImport) ||
      // The claim is used up by a runner's first call: this one was started, and never came to that. An import
      // has no runner: it was ours to take in.
      (code === 'scanner_timeout' && run.status === 'running' && (isImport || run.claim_hash !== null)),
  );
}
