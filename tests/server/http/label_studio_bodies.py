"""What Label Studio 1.23 sends to an ML backend, shortened."""

LABELS = '<Choice value="Fruit"/><Choice value="Cars" alias="vehicle"/><Choice value="Unknown"/>'
CHOICES = f'<Choices name="subjects" toName="title" choice="multiple">{LABELS}</Choices>'
NOON = "2026-11-17T12:00:00.000001Z"
LATER = "2026-11-17T12:00:05.000002Z"
DELETED = "ANNOTATIONS_DELETED"


def config(tags=CHOICES, text='<Text name="title" value="$text"/>'):
    return f"<View><Header value='Subjects'/>{text}{tags}</View>"


def project(**changes):
    created = "2026-11-17T08:55:37.123456Z"
    return {"id": 1, "title": "Texts", "created_at": created, "label_config": config(), **changes}


def region(chosen, kind="choices", name="subjects"):
    return {"id": "x1", "from_name": name, "to_name": "title", "type": kind, "value": {kind: chosen}}


def annotated(action, chosen, at=NOON, number=7, text="pear pie", **changes):
    annotation = {"id": number, "result": [region(chosen)], "updated_at": at, "was_cancelled": False, "prediction": {}}
    task = {"id": 3, "data": {"text": text}, "meta": {}}
    return {"action": action, "project": project(), "task": task, "annotation": {**annotation, **changes}}


def deleted(*numbers):
    return {"action": DELETED, "project": project(), "annotations": [{"id": number} for number in numbers or (7,)]}


def predicting(*texts, tags=CHOICES):
    tasks = [{"id": number, "data": {"text": text}, "project": 1} for number, text in enumerate(texts)]
    params = {"login": None, "password": None, "context": None}
    return {"tasks": tasks, "project": "1.1794905737", "label_config": config(tags), "params": params}
