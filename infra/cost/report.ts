import { fileURLToPath } from 'node:url';
import { synthesizeTemplate } from '#infra/released/template-file.ts';
import { ASSUMPTION_NAMES, ASSUMPTIONS, type Load, optionOf } from './assumptions.ts';
import { readCounts, readPrices } from './files.ts';
import { factorOf, limitsOf } from './limits.ts';
import { type Line, monthOf, standingOf, totalOf } from './month.ts';
import { coverage, sourceText } from './source.ts';

export const COST_DOCUMENT = fileURLToPath(new URL('../../docs/cost.md', import.meta.url));
const BEGIN = '<!-- npm run cost -- --write -->';
const END = '<!-- as far as here -->';

const PARTS = ['idle', 'calls', 'scans', 'findings'] as const;
const FACTORS = [1, 10, 100, 1000] as const;

/** The document with this report in the place of its last one. */
export function withReport(document: string, report: string): string {
  const [before, rest = ''] = document.split(BEGIN);
  return `${before}${BEGIN}\n\n${report}\n\n${END}${rest.split(END)[1] ?? ''}`;
}

/** What a load costs a month, line by line, and which limits it reaches first: Markdown, as docs/cost.md has it. */
export function costReport(load: Load): string {
  const prices = readPrices();
  const counts = readCounts();
  const standing = standingOf(synthesizeTemplate());
  const lines = monthOf(load, counts, standing, prices);
  const limits = limitsOf(load, counts, standing).sort((a, b) => factorOf(a) - factorOf(b));
  return [
    `${number(load.repositories)} repositories with ${number(load.scansADay)} scan a day each (${number(load.scanMinutes)} minutes), ${number(load.findings)} findings of which ${percent(load.churn)} a day are new and as many gone, ${number(load.calls)} API calls. Prices: ${prices.region}, looked up ${prices.lookedUpOn} (each has a source below).`,
    '',
    '| billed | idle | calls | scans | findings | together |',
    '|---|--:|--:|--:|--:|--:|',
    ...[...new Set(lines.map(({ price }) => price))].map((price) =>
      row(
        `${prices.prices[price].service} (${number(quantityOf(lines, price))} ${prices.prices[price].unit})`,
        lines.filter((line) => line.price === price),
      ),
    ),
    row('**together**', lines),
    '',
    '| limit | allowed | at 1 | at 10 | at 100 | at 1,000 | reached at | lifted by | read in |',
    '|---|--:|--:|--:|--:|--:|--:|---|---|',
    ...limits.map((limit) => {
      const used = FACTORS.map((factor) => {
        const share = limit.used * factor;
        return share > limit.allowed ? `**${number(share)}**` : number(share);
      });
      return `| ${limit.name} (${limit.unit}) | ${number(limit.allowed)} | ${used.join(' | ')} | ${number(factorOf(limit))} × | ${limit.liftedBy} | ${limit.source === 'ours' ? 'our own setting' : sourceText(limit.source)} |`;
    }),
    '',
    '### What is assumed',
    '',
    'None of these is measured on a deployment. The last column tells what the total of a month becomes where one is doubled and all others stay.',
    '',
    '| option | value | unit | why | doubled |',
    '|---|--:|---|---|--:|',
    ...ASSUMPTION_NAMES.map((name) => {
      const { unit, reason } = ASSUMPTIONS[name];
      const more =
        totalOf(monthOf({ ...load, [name]: 2 * load[name] }, counts, standing, prices)) - totalOf(lines);
      return `| \`--${optionOf(name)}\` | ${load[name].toLocaleString('en-US', { maximumFractionDigits: 4 })} | ${unit} | ${reason} | ${change(more, totalOf(lines))} |`;
    }),
    '',
    '### Where prices were read',
    '',
    `${prices.terms}. ${coverage([
      ...Object.values(prices.prices).map(({ service, source }) => ({ name: service, source })),
      ...limits.flatMap(({ name, source }) => (source === 'ours' ? [] : [{ name, source }])),
    ])}`,
    '',
    '| price | US dollars | per | read in |',
    '|---|--:|---|---|',
    ...Object.values(prices.prices).map(
      ({ service, usd, per, unit, source }) =>
        `| ${service} | ${usd} | ${number(per)} ${unit} | ${sourceText(source)} |`,
    ),
  ].join('\n');
}

/** In dollars, and as a share of the total. */
function change(more: number, total: number): string {
  if (Math.abs(more) < 0.005) return '–';
  const sign = more < 0 ? '−' : '+';
  return `${sign}$${Math.abs(more).toFixed(2)} (${sign}${Math.abs((100 * more) / total).toFixed(1)} %)`;
}

function quantityOf(lines: readonly Line[], price: Line['price']): number {
  return lines.filter((line) => line.price === price).reduce((sum, { quantity }) => sum + quantity, 0);
}

function row(name: string, lines: readonly Line[]): string {
  const total = (some: readonly Line[]) => some.reduce((usd, line) => usd + line.usd, 0);
  const cells = PARTS.map((part) => dollars(total(lines.filter((line) => line.part === part))));
  return `| ${name} | ${cells.join(' | ')} | ${dollars(total(lines))} |`;
}

function dollars(usd: number): string {
  return usd === 0 ? '' : `$${usd.toFixed(2)}`;
}

function number(value: number): string {
  const digits = value >= 100 || Number.isInteger(value) ? 0 : value >= 1 ? 1 : 3;
  return value.toLocaleString('en-US', { maximumFractionDigits: digits });
}

function percent(share: number): string {
  return `${number(share * 100)} %`;
}
