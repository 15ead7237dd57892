// The calculator of the page "Capacity planning". The arithmetic is that of `estimate` in benchmarks/capacity.py.
"use strict";

function capacityVariables(given, constants) {
  const total = given.rows * given.words_per_text;
  return {
    one: Math.E,
    few_labels: given.labels <= constants.few_labels ? Math.E : 1,
    total_words: total,
    labels_per_text: given.labels_per_text,
    total_votes: total * given.labels_per_text,
    words_per_text: given.words_per_text,
    compound: given.compound ? Math.E : 1,
  };
}

function estimateCapacity(given, data) {
  const { constants, formulas } = data;
  const value = (name, one) => {
    const found = capacityVariables(one, constants);
    return Object.entries(formulas[name].exponents).reduce((product, [key, power]) => product * found[key] ** power, 1);
  };
  const once = given.rows >= constants.one_pass_rows && given.labels > constants.few_labels;
  const seconds = value(once ? "one_pass_seconds" : "train_seconds", given);
  const megabytes = value(once ? "one_pass_megabytes" : "train_megabytes", given);
  const model = value(once ? "one_pass_model_megabytes" : "model_megabytes", given);
  const microseconds = value("rank_microseconds", given);
  const perRequest = constants.request_microseconds + microseconds;
  const cores = (given.requests_per_second * perRequest) / 1e6 / constants.busy;
  return {
    train_seconds: seconds,
    train_megabytes: Math.max(megabytes, model),
    model_megabytes: model,
    texts_per_second: 1e6 / microseconds,
    requests_per_second_per_core: 1e6 / perRequest,
    cores,
    machines: Math.max(1, Math.ceil(cores / given.cores_per_machine)),
  };
}

function showCapacity(form, data) {
  const given = {};
  for (const input of form.querySelectorAll("input")) {
    given[input.name] = input.type === "checkbox" ? input.checked : Number(input.value);
  }
  const wrong = Object.values(given).some((one) => typeof one === "number" && !(one > 0));
  const rounded = (one) => Number(one.toPrecision(2)).toLocaleString("en");
  const found = wrong ? null : estimateCapacity(given, data);
  for (const output of form.querySelectorAll("output")) {
    output.value = found ? rounded(found[output.name]) : "–";
  }
}

if (typeof document !== "undefined") {
  const form = document.getElementById("capacity");
  const data = JSON.parse(document.getElementById("capacity-data").textContent);
  form.hidden = false;
  form.addEventListener("input", () => showCapacity(form, data));
  form.addEventListener("submit", (event) => event.preventDefault());
  showCapacity(form, data);
} else {
  module.exports = { estimateCapacity };
}
