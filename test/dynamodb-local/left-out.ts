interface LeftOut {
  /** A pattern of test files. */
  readonly files: string;
  /** Set where they do touch the table: why a run on the embedded store is enough. */
  readonly although?: string;
}

/**
 * What a run on Amazon's store leaves out: tests that touch no table, and a few that do. Whatever else is
 * under `test/`, a new file too, is run there. `left-out.test.ts` holds this list to it.
 */
export const LEFT_OUT: readonly LeftOut[] = [
  { files: 'test/cli/scan.test.ts' },
  { files: 'test/cost/**' },
  { files: 'test/domain/**' },
  { files: 'test/events/**' },
  { files: 'test/http/**' },
  { files: 'test/infra/**' },
  { files: 'test/policy/**' },
  { files: 'test/rules/**' },
  { files: 'test/scanners/**' },
  { files: 'test/attacks/addresses.test.ts' },
  { files: 'test/attacks/reports-reader.test.ts' },
  { files: 'test/attacks/repositories.test.ts' },
  { files: 'test/contract/access.test.ts' },
  { files: 'test/contract/coverage.test.ts' },
  { files: 'test/contract/openapi.test.ts' },
  { files: 'test/contract/types.test.ts' },
  { files: 'test/contract/whole-lists.test.ts' },
  { files: 'test/dynamodb-local/left-out.test.ts' },
  { files: 'test/judging/verdict.test.ts' },
  { files: 'test/security/password-policy.test.ts' },
  { files: 'test/security/vault.test.ts' },
  { files: 'test/store/manifest.test.ts' },
  { files: 'test/infra/embedded/awkward-requests.test.ts', although: 'what the gateway makes of requests' },
  { files: 'test/scanners/databases.test.ts', although: 'databases of scanners lie in the bucket' },
  { files: 'test/browser/**', although: 'a page in a browser asks the API for what other tests ask it for' },
  {
    files: 'test/attacks/reports.test.ts',
    although:
      'they are about the threads that read reports; one holds how many requests are answered meanwhile',
  },
  {
    files: 'test/attacks/repositories-*.test.ts',
    although: 'minutes of Semgrep: they are about what scanners read',
  },
];
