import { randomUUID } from 'node:crypto';
import { createClient } from '#shared/client/client.ts';
import { SIGN_IN_USAGE, signIn } from './signed-in.ts';
import { SMOKE_STEPS, type SmokeContext } from './smoke-steps.ts';
import { readWords } from './words.ts';

const USAGE = `Usage: npm run smoke -- URL [--repository URL]

Uses a deployment as its callers do, and says which parts of it work: a line a step. It makes records of
its own ("smoke-…") and deletes them. ${SIGN_IN_USAGE} An Admin is needed.

Options:
  --repository URL   a public git repository to scan; without it no task is started
  --help             this text

Exit codes: 0 every step passed; 1 one failed; 2 the command is not understood.`;

/** `npm run smoke`. Answers the exit code. */
async function main(words: readonly string[]): Promise<number> {
  const asked = readWords(words, {
    repository: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  });
  if (asked?.values.help) {
    console.log(USAGE);
    return 0;
  }
  const [given, ...rest] = asked?.positionals ?? [];
  if (!given || rest.length > 0 || !URL.canParse(given)) {
    console.error(USAGE);
    return 2;
  }
  const url = given.replace(/\/+$/, '');
  const { client, orgId } = await signIn(url, process.env);
  const context: SmokeContext = {
    url,
    orgId,
    client,
    anonymous: createClient({ url }),
    name: `smoke-${randomUUID().slice(0, 8)}`,
    repository: asked?.values.repository ?? null,
    cleanUp: [],
  };
  // Who ends it early gets back what was made, too.
  let ended = false;
  process.once('SIGINT', () => {
    ended = true;
  });
  let failed = 0;
  for (const { title, shows, run } of SMOKE_STEPS) {
    if (ended) break;
    const started = performance.now();
    const problem = await run(context).then(
      (skipped) => (skipped === 'skipped' ? 'skipped' : null),
      (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
    );
    if (problem instanceof Error) failed += 1;
    const mark = problem === null ? 'ok     ' : problem === 'skipped' ? 'skipped' : 'FAILED ';
    console.log(`${mark} ${seconds(started)}  ${title} (${shows})`);
    if (problem instanceof Error) console.log(`        ${problem.message}`);
  }
  failed += await cleanUp(context);
  if (ended) {
    console.log('Ended early.');
    return 1;
  }
  console.log(failed === 0 ? 'Everything works.' : `${failed} failed.`);
  return failed === 0 ? 0 : 1;
}

/** Takes away what the steps made; answers how much of it could not be. */
async function cleanUp({ cleanUp: steps }: SmokeContext): Promise<number> {
  let failed = 0;
  for (const undo of steps.toReversed())
    await undo().catch((error: unknown) => {
      failed += 1;
      const why = error instanceof Error ? error.message : error;
      console.log(`FAILED  what was made could not be deleted: ${why}`);
    });
  return failed;
}

function seconds(since: number): string {
  return `${((performance.now() - since) / 1000).toFixed(1).padStart(6)} s`;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
