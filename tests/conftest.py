"""Fixtures for all tests."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("tests.builders")

# compiling a kernel can make the first example slow
settings.register_profile("shoal", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.load_profile("shoal")


def pytest_addoption(parser):
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run the tests in an order drawn from this seed")


def pytest_configure(config):
    """Register the xdist marker.

    It is unknown without xdist: mutation testing runs the tests in one process.
    """
    config.addinivalue_line("markers", "xdist_group(name): tests that one worker runs")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Shuffle the tests, and run all Spark tests on one worker.

    Any order must succeed: no test may depend on another one.
    """
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()) and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group("spark"))
    seed = config.getoption("--shuffle")
    if seed is not None:
        random.Random(seed).shuffle(items)


@pytest.fixture(scope="session", autouse=True)
def codes_are_recorded():
    """Append the code of each error to the file that SHOAL_CODES names.

    ``python tools/codes.py FILE`` lists the codes that are not in it.
    """
    if "SHOAL_CODES" not in os.environ:
        yield
        return
    from shoal.errors import ShoalError

    make, seen = ShoalError.__init__, set()
    with open(os.environ["SHOAL_CODES"], "a", encoding="utf-8", buffering=1) as file:

        def recorded(self, *given, **arguments):
            make(self, *given, **arguments)
            if self.code is not None and self.code not in seen:
                seen.add(self.code)
                print(self.code, file=file)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ShoalError, "__init__", recorded)
            yield


@pytest.fixture(scope="session", autouse=True)
def certificates_follow_the_schema():
    """Validate every certificate that a test makes by the shipped schema."""
    import json

    from shoal.results.certificate import Certificate
    from shoal.results.certificate_schema import FILE
    from tests.reference.json_schema import holds

    schema, write = json.loads(FILE.read_text(encoding="utf-8")), Certificate.to_json

    def validated(self):
        text = write(self)
        assert holds(schema, json.loads(text), schema), text
        return text

    Certificate.to_json = validated
    yield
    Certificate.to_json = write


@pytest.fixture(scope="session")
def spark():
    """Yield one local Spark session for all tests that need one."""
    pytest.importorskip("pyspark")
    import shoal
    from shoal.errors import InputError
    from shoal.io.engines.base import EngineSettings
    from shoal.io.engines.spark_session import require_java

    try:
        require_java()
    except InputError as error:
        pytest.skip(str(error))
    # short queries gain nothing from the slow half of Java's compiler
    options = {"spark.sql.shuffle.partitions": "3", "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}
    with shoal.spark_session(EngineSettings("1GB", name="spark", master="local[2]", options=options)) as opened:
        yield opened


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of real data sets that SHOAL_DATA names."""
    folder = os.environ.get("SHOAL_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("SHOAL_DATA does not name a folder with the real data sets (Adult, Census, ...)")
    return Path(folder)
