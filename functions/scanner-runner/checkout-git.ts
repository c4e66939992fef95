import { privateFolder } from './commands.ts';
import { gitEnvironment, passedEnvironment } from './environment.ts';
import { runProcess } from './process.ts';

/** `git ls-tree` tells about 100 bytes a file: half a million of them. */
const OUTPUT_LIMIT = 64 * 1024 * 1024;
const TIMEOUT = 60_000;

/** Asks git something about a checkout. */
export class CheckoutGit {
  readonly #checkout: string;
  readonly #env: Promise<NodeJS.ProcessEnv>;

  /** @param folder private: git's configuration is written there */
  constructor(checkout: string, folder: string, env: NodeJS.ProcessEnv) {
    this.#checkout = checkout;
    this.#env = privateFolder(folder).then(async () => ({
      ...passedEnvironment(env),
      ...(await gitEnvironment(folder)),
    }));
  }

  /** What it prints; null where git says no, and where the checkout is of no repository. */
  async ask(...args: readonly string[]): Promise<string | null> {
    const { exitCode, stdout } = await runProcess({
      file: 'git',
      args,
      cwd: this.#checkout,
      env: await this.#env,
      timeoutMs: TIMEOUT,
      stdoutLimit: OUTPUT_LIMIT,
    });
    return exitCode === 0 ? stdout : null;
  }
}
