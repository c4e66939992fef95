import { randomUUID } from 'node:crypto';
import { channel } from 'node:diagnostics_channel';
import { pathToFileURL } from 'node:url';
import type { Context } from 'aws-lambda';
import { PROJECT_ROOT } from '#infra/project.ts';
import { type ServiceLog, speakingAs } from './log.ts';
import type { LocalFunction } from './model.ts';

/** Calls functions in this process, as Lambda would call them there. */
export interface Functions {
  /** @throws FunctionTimeout, or what the handler threw */
  invoke(name: string, event: unknown): Promise<unknown>;
}

/** Told of each call once it has ended, to whoever counts: `Invocation`. */
export const INVOCATIONS = channel('aspm:invocation');

export interface Invocation {
  readonly name: string;
  readonly memory: number;
  readonly milliseconds: number;
}

type Handler = (event: unknown, context: Context) => Promise<unknown>;

class FunctionTimeout extends Error {
  override readonly name = 'Sandbox.Timedout';
}

/**
 * Handlers read their settings when they are imported: another start in the same process must not
 * get the modules of the one before, which know addresses that are gone.
 */
let generation = 0;

/** Imports every handler; Node runs their sources as they are. Settings must be in `process.env` by now. */
export async function loadFunctions(
  functions: readonly LocalFunction[],
  log: ServiceLog,
  importHandler: (name: string, generation: number) => Promise<unknown> = importSource,
): Promise<Functions> {
  generation += 1;
  const loaded = new Map<string, { readonly declared: LocalFunction; readonly handler: Handler }>();
  await Promise.all(
    functions.map(async (declared) => {
      const who = { log, source: declared.name, requestId: null };
      const module = await speakingAs(who, () => importHandler(declared.name, generation));
      loaded.set(declared.name, { declared, handler: handlerOf(module, declared.name) });
    }),
  );

  return {
    invoke(name, event) {
      const found = loaded.get(name);
      if (!found) return Promise.reject(new Error(`The template has no function ${name}`));
      const requestId = randomUUID();
      return speakingAs({ log, source: name, requestId }, () =>
        withTimeout(found.handler, event, found.declared, requestId).catch((error: unknown) => {
          // As Lambda does: what a handler throws is logged, whoever called it.
          log.write('ERROR', name, requestId, ['function failed:', error]);
          throw error;
        }),
      );
    },
  };
}

function importSource(name: string, current: number): Promise<unknown> {
  const { href } = pathToFileURL(`${PROJECT_ROOT}/functions/${name}/handler.ts`);
  return import(/* @vite-ignore */ current === 1 ? href : `${href}?start=${current}`);
}

function handlerOf(module: unknown, name: string): Handler {
  const handler = (module as { handler?: unknown } | null)?.handler;
  if (typeof handler !== 'function') throw new Error(`functions/${name}/handler.ts exports no handler`);
  return handler as Handler;
}

async function withTimeout(
  handler: Handler,
  event: unknown,
  declared: LocalFunction,
  requestId: string,
): Promise<unknown> {
  const milliseconds = declared.timeoutSeconds * 1000;
  const deadline = Date.now() + milliseconds;
  const started = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new FunctionTimeout(`${declared.name} took longer than ${declared.timeoutSeconds} s`));
    }, milliseconds);
  });
  try {
    return await Promise.race([handler(event, contextOf(declared, requestId, deadline)), timeout]);
  } finally {
    clearTimeout(timer);
    const { name, memory } = declared;
    INVOCATIONS.publish({ name, memory, milliseconds: performance.now() - started } satisfies Invocation);
  }
}

function contextOf(declared: LocalFunction, awsRequestId: string, deadline: number): Context {
  return {
    awsRequestId,
    functionName: declared.name,
    functionVersion: '$LATEST',
    invokedFunctionArn: declared.name,
    memoryLimitInMB: String(declared.memory),
    logGroupName: declared.name,
    logStreamName: 'local',
    callbackWaitsForEmptyEventLoop: false,
    getRemainingTimeInMillis: () => Math.max(0, deadline - Date.now()),
    done() {},
    fail() {},
    succeed() {},
  };
}
