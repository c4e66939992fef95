import { checkPolicy } from '#shared/policy/check.ts';
import { evaluateMany } from '#shared/policy/evaluate.ts';
import { SAMPLES, startEngine } from './engine.ts';

/** For `leak.test.ts`, in a process of its own: prints the megabytes that it has after each round of policies. */
const policies = Number(process.argv[2]);
await using engine = startEngine();
for (let round = 0; round < 3; round += 1) {
  for (let nth = 0; nth < policies; nth += 1) {
    const rego = `package svc.triage\nimport rego.v1\ndecision := "accept" if input.finding.cvss_score > ${round}.${nth}\nreason := sprintf("%v in round %d", [input.finding.title, ${round}])\n`;
    const checked = await checkPolicy(engine.reactor, { kind: 'triage', rego, samples: SAMPLES });
    if (!checked.ok) throw new Error(JSON.stringify(checked.errors));
    for (const evaluator of ['wasm', 'reactor'] as const)
      await evaluateMany(engine.evaluators, { ...checked.compiled, evaluator }, SAMPLES);
  }
  globalThis.gc?.();
  console.log(Math.round(process.memoryUsage.rss() / 1024 / 1024));
}
