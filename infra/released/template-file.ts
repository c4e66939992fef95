import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { App } from 'aws-cdk-lib';
import { readDeployment } from '#infra/deployment.ts';
import { STACK_NAME } from '#infra/project.ts';
import { AspmStack } from '#infra/stack.ts';
import { Template } from './upgrade-gate.ts';

/** What later versions are held to: written by `npm run release-template`. */
export const RELEASED_TEMPLATE = fileURLToPath(new URL('template.json', import.meta.url));

export function readReleasedTemplate(): Template {
  return Template.parse(JSON.parse(readFileSync(RELEASED_TEMPLATE, 'utf8')));
}

/** The template as it is deployed without any option. */
export function synthesizeTemplate(): Template {
  const app = new App({ context: { bundle: false } });
  new AspmStack(app, STACK_NAME, { deployment: readDeployment(app.node) });
  return Template.parse(app.synth().getStackByName(STACK_NAME).template);
}
