import middy from '@middy/core';
import type { Context } from 'aws-lambda';
import type * as z from 'zod';
import { listOperations } from '#contract/index.ts';
import type { Operation, OperationDeclaration, OperationGroup } from '#contract/operation.ts';
import { newRequestId, withRequestId } from '#shared/request-scope.ts';
import type { CallerFor, RateWindow } from './caller.ts';
import { caller } from './middleware/caller.ts';
import { errors } from './middleware/errors.ts';
import { jsonBody } from './middleware/json-body.ts';
import { permission } from './middleware/permission.ts';
import { rateLimit } from './middleware/rate-limit.ts';
import { requestId } from './middleware/request-id.ts';
import { route } from './middleware/route.ts';
import { upload } from './middleware/upload.ts';
import { validation } from './middleware/validation.ts';
import { type HttpResponse, renderJson } from './render.ts';
import type { ChainContext, HttpEvent } from './request-state.ts';
import { createRouter } from './router.ts';

type Output<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;

/** What an operation is given: valid input, and who asks. No HTTP in it. */
export interface OperationInput<O extends OperationDeclaration> {
  readonly params: Output<O['params']>;
  readonly query: Output<O['query']>;
  readonly body: O extends { bodyOptional: true } ? Output<O['body']> | undefined : Output<O['body']>;
  readonly upload: O extends { upload: object } ? Uint8Array : undefined;
  readonly caller: CallerFor<O['permission']>;
  readonly requestId: string;
  /** The caller's address. */
  readonly ip: string;
  /** Value of the header `Idempotency-Key`, where one was sent. */
  readonly idempotencyKey: string | null;
  /** For operations that count by themselves (login): the window to show in the headers. */
  readonly showRate: (window: RateWindow) => void;
}

/**
 * One function for each operation of a group: leaving one out, or answering another shape than its
 * response schema's, does not compile.
 */
export type Implementations<Operations extends Record<string, OperationDeclaration>, Dependencies> = {
  readonly [Id in keyof Operations]: (
    input: OperationInput<Operations[Id]>,
    dependencies: Dependencies,
  ) => Promise<z.input<Operations[Id]['response']['schema']>>;
};

interface ChainOptions {
  /** For the function behind `$default`: every operation there is, so that a wrong method is a 405 and no 404. */
  readonly elsewhere?: readonly Operation[];
  /** Answers for paths that are no operations (the reference page); null where there is nothing either. */
  readonly page?: (event: HttpEvent) => Promise<HttpResponse | null>;
}

/**
 * The chain that every request passes once, in this order: request id, errors, rate limit, route,
 * caller, permission, body, validation, operation. Default-deny: without the authorizer's context
 * everything but a public operation answers 401.
 */
export function createHandler<Operations extends Record<string, OperationDeclaration>, Dependencies>(
  group: OperationGroup<Operations>,
  implementations: Implementations<Operations, Dependencies>,
  dependencies: Dependencies,
  options: ChainOptions = {},
) {
  const router = createRouter(listOperations(group));

  async function runOperation(event: HttpEvent, { state }: ChainContext): Promise<HttpResponse> {
    if (state.operation === null) {
      const page = await options.page?.(event);
      if (page) return page;
      throw new Error('The route middleware let a request without an operation pass');
    }
    // The map is typed operation by operation; here, at the one place where they meet, the type is erased.
    const implementation = implementations[state.operation.id] as (
      input: unknown,
      dependencies: Dependencies,
    ) => Promise<unknown>;
    const answer = await implementation(
      {
        ...state.input,
        upload: state.upload,
        caller: state.operation.permission === 'public' ? null : state.caller,
        requestId: state.requestId,
        ip: event.requestContext.http.sourceIp,
        idempotencyKey: event.headers['idempotency-key'] ?? null,
        showRate: (window: RateWindow) => {
          state.rate = window;
        },
      },
      dependencies,
    );
    return renderJson(state.operation.response.status, answer);
  }

  const hasPage = options.page ? (path: string) => !path.startsWith('/api/') : () => false;
  const chain = middy<HttpEvent, HttpResponse, Error, ChainContext>()
    .use(requestId())
    .use(errors())
    .use(rateLimit())
    .use(route(router, createRouter(options.elsewhere ?? []), hasPage))
    .use(caller())
    .use(permission())
    .use(jsonBody())
    .use(upload())
    .use(validation())
    .handler(runOperation);

  /** Where no authorizer has named the request, it gets its name here. The first middleware makes the context ours. */
  return (event: HttpEvent, context: Context): Promise<HttpResponse> => {
    const named = event.requestContext.authorizer?.lambda?.requestId ?? newRequestId();
    return withRequestId(named, () => chain(event, context as ChainContext));
  };
}
