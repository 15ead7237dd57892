"""What the tests of the formats share."""

import pytest

from abound import data


@pytest.fixture
def first_error(tmp_path):
    """Return the function from a format and bytes to the error they raise."""

    def find(name, content, **options):
        path = tmp_path / "file"
        path.write_bytes(content)
        with pytest.raises(data.DataError) as caught:
            list(data.read(path, name, **options))
        assert str(caught.value) == f"{path}:{caught.value.line}: {caught.value.reason}"
        return caught.value

    return find
