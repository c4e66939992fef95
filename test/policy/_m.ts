import { startEngine, SAMPLES } from '/work/main/test/policy/engine.ts';
import { checkPolicy } from '/work/main/shared/policy/check.ts';
import { gzipSync } from 'node:zlib';
await using e = startEngine();
const small='package svc.triage\nimport rego.v1\ndefault decision := "accept"\ndecision := "reject" if input.finding.epss_score < 0.1\n';
let big='package svc.triage\nimport rego.v1\n'; for(let i=0;big.length<99000;i++) big+=`r${i} contains msg if { input.finding.title == "x${i}"; input.finding.cvss_score > ${i}; msg := concat("", ["a", input.finding.severity]) }\n`;
for (const rego of [small,big]) { const t=performance.now(); const c=await checkPolicy(e.reactor,{kind:'triage',rego,samples:SAMPLES},{deadlineMs:20000}); console.log(c.ok, c.ok&&c.compiled.wasm.length, c.ok&&gzipSync(c.compiled.wasm).length, c.errors.slice(0,1), performance.now()-t); }
const r=await e.reactor.evaluate({kind:'triage',rego:'package svc.triage\nx := '},[{}]); console.log(JSON.stringify(r));
const r2=await e.reactor.evaluate({kind:'triage',rego:'package svc.triage\nimport rego.v1\na if { print("hi", input.x) }'},[{x:1}]); console.log(JSON.stringify(r2));
const r3=await e.reactor.check({kind:'triage',rego:'package svc.triage\na { input.x }\nb { input.y }'},[{x:1}]); console.log(JSON.stringify(r3));
