import type { Context } from 'aws-lambda';
import { reference } from '#contract/operations/reference.ts';
import { createHandler } from '#http/chain.ts';
import type { HttpResponse } from '#http/render.ts';
import type { HttpEvent } from '#http/request-state.ts';
import { readConfig } from '#shared/config.ts';
import { referenceOperations } from './operations.ts';
import { createPage } from './page.ts';
import { answerPreflight, isPreflight } from './preflight.ts';

const config = readConfig(['PUBLIC_URL', 'ASSETS_DIR']);

const answer = createHandler(
  reference,
  referenceOperations,
  { publicUrl: config.PUBLIC_URL },
  { page: createPage(config.ASSETS_DIR) },
);

export function handler(event: HttpEvent, context: Context): Promise<HttpResponse> {
  return isPreflight(event) ? answerPreflight() : answer(event, context);
}
