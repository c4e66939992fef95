/** What a run on the deployed service leaves out, and why. */
interface LeftOut {
  /** A pattern of test files. */
  readonly files: string;
  /** Titles of single tests, as Vitest joins them with ` > `; absent: all of the files. */
  readonly tests?: readonly string[];
  readonly because: string;
}

const OWN_FUNCTIONS = 'runs functions in the test itself: it would pass without a deployment';

export const LEFT_OUT: readonly LeftOut[] = [
  {
    files: 'test/pipeline/{alarms,failing-scanners,ingest,ingest-tools,runner-places}.test.ts',
    because: OWN_FUNCTIONS,
  },
  { files: 'test/pipeline/{request-id,suppression-clock,sweep}.test.ts', because: OWN_FUNCTIONS },
  { files: 'test/contract/{cost,declared-errors}.test.ts', because: OWN_FUNCTIONS },
  { files: 'test/attacks/accounts-invitations.test.ts', because: OWN_FUNCTIONS },
  {
    files: 'test/contract/{coverage,openapi,types,whole-lists}.test.ts',
    because: 'asks the contract alone, and no service',
  },
  { files: 'test/attacks/reports-reader.test.ts', because: 'asks no service' },
  {
    files: 'test/attacks/object-store.test.ts',
    because: "the embedded bucket's own signatures; S3 has its own",
  },
  { files: 'test/attacks/hosts-and-cursors.test.ts', because: "the embedded gateway's own check of hosts" },
  {
    files: 'test/api/policies-flood.test.ts',
    because: 'in AWS each request has a function to itself; the emulator gives them two cores together',
  },
  {
    files: 'test/attacks/reports.test.ts',
    tests: ['a report that takes seconds keeps others waiting'],
    because: 'in AWS each request has a function to itself; the emulator gives them two cores together',
  },
];
