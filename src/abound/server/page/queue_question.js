// Nothing that was decided is discarded without a question.
import { plural } from "./dom.js";
import { CANCEL, question } from "./question.js";

/** Ask before a file is closed or replaced; resolves to "export", "discard", or null to keep the file. */
export async function closingQuestion(model, verb) {
  if (!model?.hasWork) return "discard";
  const { done, none } = model.counts;
  const edited = [...model.entries.keys()].filter((row) => model.isEdited(row)).length;
  const work = [`${plural(done + none, "decided text")}`, ...(edited ? [plural(edited, "edited text")] : [])].join(" and ");
  return question({
    title: `${verb} ${model.file.name}?`,
    words: `The file has ${work}. What was learned stays learned. Which text got which label is only in this browser until you export it.`,
    choices: [CANCEL, { name: `${verb} without export`, value: "discard", kind: "danger" }, { name: `Export and ${verb.toLowerCase()}`, value: "export", kind: "primary" }],
  });
}
