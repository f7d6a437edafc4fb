/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Allocation-heavy node: what lives outside V8's own heap (buffers, zlib, hashes, workers) comes from malloc.
'use strict';
const crypto = require('crypto');
const { execFileSync } = require('child_process');
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const zlib = require('zlib');

let state = 4711;
function nextNumber(bound) {
  state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
  return (state >>> 8) % bound;
}

function digest(data) {
  return crypto.createHash('sha256').update(data).digest('hex').slice(0, 24);
}

function records(n) {
  return Array.from({ length: n }, (_, id) => ({
    id, name: 'n' + nextNumber(1e6), tags: Array.from({ length: nextNumber(6) }, () => nextNumber(100)),
    nested: { x: nextNumber(1000) / 8, text: 'é'.repeat(nextNumber(20)) },
  }));
}

function json() {
  const text = JSON.stringify(records(20000));
  const again = JSON.parse(text);
  console.log('json', text.length, again.length, digest(JSON.stringify(again)));
}

function buffers() {
  const kept = [];
  for (let i = 0; i < 4000; i++) {
    const block = Buffer.allocUnsafeSlow(1 + nextNumber(60000)).fill(i & 255);
    if (i % 40 === 0) kept.push(block);
  }
  const all = Buffer.concat(kept);
  console.log('buffers', kept.length, all.length, digest(all), digest(all.toString('base64')));
}

function compression() {
  const data = Buffer.from(JSON.stringify(records(5000)));
  for (const [pack, unpack] of [['deflateSync', 'inflateSync'], ['gzipSync', 'gunzipSync'],
    ['brotliCompressSync', 'brotliDecompressSync']]) {
    const options = pack === 'brotliCompressSync' ? { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 5 } } : {};
    const packed = zlib[pack](data, options);
    console.log(pack, packed.length, zlib[unpack](packed).equals(data));
  }
}

function child() {
  const text = execFileSync(process.execPath, ['-p', '[3, 1, 2].sort().join() + Buffer.alloc(1e6).length']);
  console.log('child', text.toString().trim());
}

function worker(n) {
  return new Promise((resolve, reject) => {
    const w = new Worker(__filename, { workerData: { n } });
    w.once('message', resolve);
    w.once('error', reject);
  });
}

async function main() {
  json();
  buffers();
  compression();
  child();
  const answers = await Promise.all([1, 2, 3, 4].map(worker));
  for (const answer of answers) console.log('worker', answer.n, answer.size, answer.sum);
}

function workerMain() {
  state = workerData.n * 7;
  const map = new Map(records(4000).map((r) => [r.name, r]));
  const parts = [];
  for (let i = 0; i < 500; i++) parts.push(Buffer.allocUnsafe(1 + nextNumber(9000)).fill(workerData.n));
  parentPort.postMessage({ n: workerData.n, size: map.size, sum: digest(Buffer.concat(parts)) });
}

if (isMainThread) main();
else workerMain();
