// Compiles WGSL with Tint, the compiler of Chromium, on a device that does nothing.
//
//   node tint.mjs FILE...
//
// A file is KERNEL.SWITCHES.wgsl, and KERNEL is the entry point. Prints `ok FILE` or `BAD FILE` with the message. For
// scripts/compilers.sh, which installs Dawn (npm's `webgpu`) beside a copy of this file.
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { create, globals } from 'webgpu';

Object.assign(globalThis, globals);
const gpu = create(['backend=null']);
const adapter = await gpu.requestAdapter();
const device = await adapter.requestDevice({ requiredFeatures: ['subgroups'] });

// WGSL asks for features at its beginning; naga takes them without, and the kernel with subgroups is for native devices
// only as yet. `subgroupBarrier` is naga's own.
function browserText(text) {
  const code = text.replace(/\/\/.*$/gm, '');
  if (!/\bsubgroup[A-Z_]/.test(code)) return { text, note: '' };
  const note = /\bsubgroupBarrier\b/.test(code) ? 'without subgroupBarrier, which WGSL does not have' : '';
  const features = 'enable subgroups;\n' + (/\b(subgroup_id|num_subgroups)\b/.test(code) ? 'requires subgroup_id;\n' : '');
  return { text: features + text.replace(/\bsubgroupBarrier\(\);/g, ''), note };
}

// Returns the messages, none where the file compiles.
async function compile(text, entryPoint) {
  device.pushErrorScope('validation');
  const module = device.createShaderModule({ code: text });
  const { messages } = await module.getCompilationInfo();
  const found = messages.filter((m) => m.type !== 'info').map((m) => `${m.type} in line ${m.lineNum}: ${m.message}`);
  if (found.length === 0) {
    await device
      .createComputePipelineAsync({ layout: 'auto', compute: { module, entryPoint } })
      .catch((error) => found.push(error.message));
  }
  const error = await device.popErrorScope();
  if (error && found.length === 0) found.push(error.message);
  return found;
}

let isGood = true;
const files = process.argv.slice(2);
for (const file of files) {
  const { text, note } = browserText(readFileSync(file, 'utf8'));
  const found = await compile(text, basename(file).split('.')[0]);
  isGood = isGood && found.length === 0;
  console.log(found.length === 0 ? `ok ${file} ${note}` : `BAD ${file} ${found.join('; ').replaceAll('\n', ' ').slice(0, 600)}`);
}
// Dawn's threads would keep the process.
process.exit(isGood && files.length > 0 ? 0 : 1);
