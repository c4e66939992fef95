import { enableCompileCache } from 'node:module';
import { BUILD_FOLDER } from '#infra/project.ts';
import type { ChildNews } from './child-news.ts';
import type { EmbeddedCloud } from './embedded-cloud.ts';

// Before anything else is imported: the second start then compiles next to nothing.
enableCompileCache(`${BUILD_FOLDER}/compile-cache`);
const { startEmbeddedCloud } = await import('./embedded-cloud.ts');

const STOP_MS = 15_000;
const say = (line: string) => process.stdout.write(`${line}\n`);
// Who started us was killed, and nobody would end us.
process.once('disconnect', () => process.exit(1));

// A promise that a function forgot ends its own environment in Lambda; here it must not end them all.
process.on('unhandledRejection', (reason) => console.error('Unhandled rejection:', reason));

let cloud: EmbeddedCloud | null = null;
let ending = false;

/** What `npm start` (`main.ts`) starts, and starts again where it died. Only lines for people go to the terminal; what the functions say is in the service's log. */
try {
  const { ASPM_DIED: died } = process.env;
  delete process.env.ASPM_DIED;
  cloud = await startEmbeddedCloud({
    onProgress: say,
    // The one to signal: it would start us again.
    pid: process.ppid,
    ...(died && { died }),
    onLost: (reason) => end(1, `The service can't go on: ${reason}`),
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => end(0));
  const { admin, url, dataDir } = cloud;
  if (admin.password !== undefined) say(`admin ${admin.email}, password ${admin.password} (shown only now)`);
  say(`reference ${url}/docs, log ${dataDir}/service.log`);
  say(`ready ${url}`);
  const news: ChildNews = { ready: url };
  process.send?.(news);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}

/** Once, however often it is asked for; a stop that hangs is cut off. */
function end(code: 0 | 1, why?: string): void {
  if (ending || !cloud) return;
  ending = true;
  if (why !== undefined) console.error(why);
  setTimeout(() => process.exit(1), STOP_MS).unref();
  cloud.stop().then(
    () => process.exit(code),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
}
