import * as z from 'zod';
import { told } from './normalise.ts';

/** SARIF 2.1.0 as far as it is read. One odd rule or artifact costs that one, not all of them. */

const message = z.object({ text: told.text, id: told.text, arguments: told.texts }).nullish().catch(null);
const messages = z.record(z.string(), message).nullish().catch(null);
const properties = z.record(z.string(), z.unknown()).nullish().catch(null);
const index = z.number().int().min(0).nullish().catch(null);

function list<S extends z.ZodType>(item: S) {
  return z.array(item.nullable().catch(null)).nullish().catch(null);
}

const rule = z.object({
  id: told.text,
  name: told.text,
  shortDescription: message,
  fullDescription: message,
  help: message,
  messageStrings: messages,
  defaultConfiguration: z.object({ level: told.text }).nullish().catch(null),
  properties,
});
export type Rule = z.output<typeof rule>;

const component = z.object({ rules: list(rule), globalMessageStrings: messages });
export type Component = z.output<typeof component>;

const logicalLocation = z.object({ fullyQualifiedName: told.text, name: told.text, index });

const artifactLocation = z.object({ uri: told.text, index }).nullish().catch(null);

const notification = z.object({
  level: told.text,
  locations: list(z.object({ physicalLocation: z.object({ artifactLocation }).nullish().catch(null) })),
});
export type Notification = z.output<typeof notification>;
const notifications = list(notification);

const run = z.object({
  tool: z.object({
    driver: component.extend({ name: z.string().min(1) }),
    extensions: list(component),
  }),
  invocations: list(
    z.object({
      executionSuccessful: z.unknown().optional(),
      exitSignalName: told.text,
      processStartFailureMessage: told.text,
      toolExecutionNotifications: notifications,
      toolConfigurationNotifications: notifications,
    }),
  ),
  artifacts: list(z.object({ location: z.object({ uri: told.text }).nullish().catch(null) })),
  logicalLocations: list(logicalLocation),
  results: z.array(z.unknown()).nullish(),
});
export type Run = z.output<typeof run>;

export const sarifLog = z.object({ version: z.string().startsWith('2.1'), runs: z.array(run) });

const region = z
  .object({ startLine: told.line, endLine: told.line, startColumn: told.line, snippet: message })
  .nullish()
  .catch(null);

/** What names neither a rule nor says anything is no result. */
export const result = z
  .object({
    ruleId: told.text,
    ruleIndex: index,
    rule: z
      .object({ id: told.text, index, toolComponent: z.object({ index }).nullish().catch(null) })
      .nullish()
      .catch(null),
    level: told.text,
    kind: told.text,
    message,
    baselineState: told.text,
    suppressions: z
      .array(z.object({ kind: told.text, status: told.text }))
      .nullish()
      .catch(null),
    locations: list(
      z.object({
        physicalLocation: z.object({ artifactLocation, region }).nullish().catch(null),
        logicalLocations: list(logicalLocation),
      }),
    ),
    fingerprints: z.record(z.string(), z.string()).nullish().catch(null),
    partialFingerprints: z.record(z.string(), z.string()).nullish().catch(null),
    fixes: list(z.object({ description: message })),
    properties,
  })
  .refine(({ ruleId, ruleIndex, rule: of, message: said }) =>
    [ruleId, ruleIndex, of?.id, of?.index, said?.text, said?.id].some(
      (value) => value != null && value !== '',
    ),
  );
export type Result = z.output<typeof result>;
