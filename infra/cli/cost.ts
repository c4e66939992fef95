import { readFileSync, writeFileSync } from 'node:fs';
import { ASSUMPTION_NAMES, ASSUMPTIONS, optionOf, readCommand } from '#infra/cost/assumptions.ts';
import { COST_DOCUMENT, costReport, withReport } from '#infra/cost/report.ts';

const USAGE = `npm run cost -- [--OPTION N]… [--write]

What a deployment costs a month, from what was counted of the code (infra/cost/counts.json) and list
prices (infra/cost/prices.json), and which limit it reaches first. --write puts it into docs/cost.md.

${ASSUMPTION_NAMES.map((name) => {
  const { value, unit, reason } = ASSUMPTIONS[name];
  return `${`  --${optionOf(name)} ${value}`.padEnd(36)}${unit}: ${reason}`;
}).join('\n')}
`;

const { load, write, help } = readCommand(process.argv.slice(2));
if (help) console.log(USAGE);
else if (write)
  writeFileSync(COST_DOCUMENT, withReport(readFileSync(COST_DOCUMENT, 'utf8'), costReport(load)));
else console.log(costReport(load));
