/** What a run on the deployed service leaves out, and why. */
interface LeftOut {
  /** A pattern of test files. */
  readonly files: string;
  /** Titles of single tests, as Vitest joins them with ` > `; absent: all of the files. */
  readonly tests?: readonly string[];
  readonly because: string;
}

export const LEFT_OUT: readonly LeftOut[] = [];
