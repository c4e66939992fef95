import { describe, expect, it } from 'vitest';
import { changesByDay } from '#shared/policy/changes-by-day.ts';

const policy = (rules: string) => `package svc.triage\n\nimport rego.v1\n\n${rules}\n`;

describe('whether a policy may decide otherwise tomorrow', () => {
  it.each([
    'decision := "accept" if input.finding.kev',
    'decision := "reject" if input.finding.epss_score < 0.1',
    'decision := "accept" if { input.finding.age_days > 30 }',
    'decision := "accept" if some_check(input)',
    'decision := "accept" if input.finding["kev"]',
    'f := input.finding\n\ndecision := "accept" if f.kev',
    'import input.finding\n\ndecision := "accept" if finding.kev',
    'decision := "accept" if input["finding"].kev',
    'decision := "accept" if { walk(input, [_, true]) }',
  ])('yes: %s', (rules) => {
    expect(changesByDay(policy(rules))).toBe(true);
  });

  it.each([
    'decision := "accept" if input.finding.severity == "critical"',
    'decision := "accept" if startswith(input.finding.location.path, "src/")',
    'decision := "accept" if input.asset.tags[_] == "input.finding.kev"',
    '# input.finding.kev is not looked at\ndecision := "accept"',
    'decision := `input`',
    'decision := "accept" if input.finding.severity == "low"\n\ntest_low if decision == "accept" with input as {"finding": {"severity": "low"}}',
    'test_low if decision == "accept" with input.finding.kev as true',
    'decision := "a\\"b input.finding.kev"',
    'decision := "accept" if input.asset.criticality == "high"',
  ])('no: %s', (rules) => {
    expect(changesByDay(policy(rules))).toBe(false);
  });
});
