import type middy from '@middy/core';
import type { APIGatewayProxyEventV2WithLambdaAuthorizer, Context } from 'aws-lambda';
import type { Operation } from '#contract/operation.ts';
import type { AuthorizerContext, Caller, RateWindow } from './caller.ts';
import type { HttpResponse } from './render.ts';
import type { ValidInput } from './validation.ts';

export type HttpEvent = APIGatewayProxyEventV2WithLambdaAuthorizer<AuthorizerContext | null>;

/** What the chain has learnt about the request so far; each middleware adds its part. */
export interface RequestState {
  requestId: string;
  verbose: boolean;
  rate: RateWindow | null;
  operation: Operation | null;
  params: Record<string, string>;
  caller: Caller | null;
  body: unknown;
  /** The body of operations that take a file as it is. */
  upload: Uint8Array | undefined;
  input: ValidInput | null;
  /** Headers that a refusal needs (Allow). */
  extraHeaders: Record<string, string>;
}

/** Lambda's context, which the first middleware gives our state; fresh for each request. */
export interface ChainContext extends Context {
  state: RequestState;
}

export type ChainMiddleware = middy.MiddlewareObj<HttpEvent, HttpResponse, Error, ChainContext>;
