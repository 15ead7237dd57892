// Work through many texts: those of a file, which stays in this browser, or those of a queue that several people share.
import { openFileQueue } from "./queue_file.js";
import { readModel } from "./queue_model.js";
import { openSharedQueue } from "./queue_shared.js";
import { openStart } from "./queue_start.js";

export async function openQueue(main, info, query) {
  if (query.has("name")) return openSharedQueue(main, info, query.get("name"));
  const model = await readModel();
  if (!model || query.has("start")) return openStart(main, info, model);
  return openFileQueue(main, info, model);
}
