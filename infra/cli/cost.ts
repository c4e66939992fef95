import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { DEFAULT_LOAD, type Load } from '#infra/cost/month.ts';
import { COST_DOCUMENT, costReport, withReport } from '#infra/cost/report.ts';

const USAGE = `npm run cost -- [--repositories N] [--findings N] [--calls N] [--churn SHARE] [--scan-minutes N] [--write]

What a deployment costs a month, from what was counted of the code (infra/cost/counts.json) and list
prices (infra/cost/prices.json), and which limit it reaches first. --write puts it into docs/cost.md.
`;

const { values } = parseArgs({
  options: {
    repositories: { type: 'string' },
    findings: { type: 'string' },
    calls: { type: 'string' },
    churn: { type: 'string' },
    'scan-minutes': { type: 'string' },
    write: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  },
});
if (values.help) console.log(USAGE);
else if (values.write)
  writeFileSync(COST_DOCUMENT, withReport(readFileSync(COST_DOCUMENT, 'utf8'), costReport(readLoad())));
else console.log(costReport(readLoad()));

function readLoad(): Load {
  const read = (name: Exclude<keyof typeof values, 'help' | 'write'>, without: number) => {
    const text = values[name];
    const value = text === undefined ? without : Number(text);
    if (!Number.isFinite(value) || value < 0) throw new Error(`--${name} must be a number\n\n${USAGE}`);
    return value;
  };
  return {
    repositories: read('repositories', DEFAULT_LOAD.repositories),
    findings: read('findings', DEFAULT_LOAD.findings),
    calls: read('calls', DEFAULT_LOAD.calls),
    churn: read('churn', DEFAULT_LOAD.churn),
    scanMinutes: read('scan-minutes', DEFAULT_LOAD.scanMinutes),
  };
}
