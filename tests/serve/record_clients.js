// Record calls of a client in JavaScript (npm's @grpc/grpc-js and @grpc/proto-loader), whose messages
// come from the server's reflection. Run while a server of `tests.serve.models.half_plus` runs;
// rewrites recorded/clients_js.json:
//
//     node tests/serve/record_clients.js PORT
const fs = require("fs");
const path = require("path");
const grpc = require("@grpc/grpc-js");
const loader = require("@grpc/proto-loader");

const address = `127.0.0.1:${process.argv[2]}`;
const credentials = grpc.credentials.createInsecure();
const NAME = "half_plus_two";
const X = { dtype: "DT_FLOAT", tensor_shape: { dim: [{ size: 3 }, { size: 1 }] }, float_val: [1, 2, 5] };

// protobuf.js takes maps of descriptors for lists of pairs, which is what the bytes hold.
const INPUTS = [{ key: "x", value: X }];

// The few messages of reflection that list the files, in protobuf's encoding by hand.
const field = (number, bytes) => Buffer.concat([Buffer.from([number << 3 | 2, bytes.length]), bytes]);

function varint(bytes, at) {
  let value = 0, shift = 0;
  for (;;) {
    const byte = bytes[at++];
    value += (byte & 127) * 2 ** shift;
    shift += 7;
    if (byte < 128) return [value, at];
  }
}

function fieldsOf(bytes) {
  const found = [];
  for (let at = 0; at < bytes.length;) {
    let tag, length;
    [tag, at] = varint(bytes, at);
    [length, at] = varint(bytes, at);
    if ((tag & 7) === 2) {
      found.push([tag >> 3, bytes.subarray(at, at + length)]);
      at += length;
    }
  }
  return found;
}

function describe(symbols) {
  const client = new grpc.Client(address, credentials);
  const plain = (bytes) => bytes;
  const stream = client.makeBidiStreamRequest(
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", plain, plain);
  const files = new Set();
  return new Promise((resolve, reject) => {
    stream.on("error", reject);
    stream.on("data", (answer) => {
      for (const [number, content] of fieldsOf(answer)) {
        if (number !== 4) continue;
        for (const [, file] of fieldsOf(content)) files.add(file.toString("latin1"));
      }
    });
    stream.on("end", () => resolve(
      Buffer.concat([...files].map((file) => {
        const bytes = Buffer.from(file, "latin1"), size = [];
        for (let left = bytes.length; ; left = Math.floor(left / 128)) {
          size.push(left < 128 ? left : left % 128 + 128);
          if (left < 128) break;
        }
        return Buffer.concat([Buffer.from([10, ...size]), bytes]);
      }))));
    for (const symbol of symbols) stream.write(field(4, Buffer.from(symbol)));
    stream.end();
  });
}

function record(client, service, method, request) {
  const { path: name, requestSerialize, responseDeserialize } = client.service[method];
  const found = { method: name, request: requestSerialize(request).toString("base64") };
  return new Promise((resolve) => {
    const plain = (bytes) => bytes;
    client.client.makeUnaryRequest(name, requestSerialize, plain, request, (error, bytes) => {
      if (error) Object.assign(found, { code: grpc.status[error.code], details: error.details });
      else Object.assign(found, { response: bytes.toString("base64"), read: responseDeserialize(bytes) });
      resolve(found);
    });
  });
}

async function main() {
  const services = ["PredictionService", "ModelService"];
  const set = await describe(services.map((name) => `tensorflow.serving.${name}`));
  const options = { keepCase: true, longs: Number, enums: String, defaults: false };
  const serving = grpc.loadPackageDefinition(
    loader.loadFileDescriptorSetFromBuffer(set, options)).tensorflow.serving;
  const [predictions, models] = services.map((name) => ({
    service: serving[name].service, client: new serving[name](address, credentials) }));
  const spec = { name: NAME };
  const feature = [{ key: "x", value: { float_list: { value: [2] } } }];
  const input = { example_list: { examples: [{ features: { feature } }] } };
  const records = [
    await record(predictions, services[0], "Predict", { model_spec: spec, inputs: INPUTS }),
    await record(predictions, services[0], "Predict", { model_spec: { name: "none" }, inputs: INPUTS }),
    await record(predictions, services[0], "Regress", { model_spec: { ...spec, signature_name: "regress_x_to_y" }, input }),
    await record(models, services[1], "GetModelStatus", { model_spec: spec }),
  ];
  const file = path.join(__dirname, "recorded", "clients_js.json");
  fs.writeFileSync(file, JSON.stringify(records, null, 1) + "\n");
  process.exit(0);
}

main();
