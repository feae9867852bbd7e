"""What answers cost."""

from __future__ import annotations

import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from eval.agents.protocol import AgentError, Reply
from roster.text import field_path


class Price(BaseModel):
    """US dollars per million tokens.

    Attributes:
        input: Of input that is not cached.
        output: Of output.
        cache_write: Of input written to the cache, as a multiple of `input`.
        cache_read: Of input read from it, as a multiple of `input`.
        batch: Of everything in a batch, as a multiple.
        source: Where the price was read, and when: prices change.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: float = Field(ge=0.0, allow_inf_nan=False)
    output: float = Field(ge=0.0, allow_inf_nan=False)
    cache_write: float = Field(default=1.25, ge=0.0, allow_inf_nan=False)
    cache_read: float = Field(default=0.1, ge=0.0, allow_inf_nan=False)
    batch: float = Field(default=0.5, ge=0.0, allow_inf_nan=False)
    source: str = Field(default="", max_length=300)

    def __str__(self) -> str:
        """The price, and where it comes from."""
        return (
            f"US $ at {self.input:g} per million input tokens (to the cache "
            f"x{self.cache_write:g}, from it x{self.cache_read:g}) and {self.output:g} output, in "
            f"a batch x{self.batch:g}: {self.source or 'source unknown'}"
        )

    def of(self, reply: Reply) -> float:
        """Price of one answer in US dollars."""
        usage = reply.usage
        read = (
            usage.input + usage.cache_write * self.cache_write + usage.cache_read * self.cache_read
        )
        dollars = (read * self.input + usage.output * self.output) / 1e6
        return dollars * self.batch if reply.batch else dollars


def price_of(model: str, path: str | Path | None = None) -> Price | None:
    """The price of a model, or None when the file does not know it.

    Args:
        model: Name of the model; the longest entry that it starts with counts.
        path: A TOML file of ``["model name"]`` tables; by default the one that comes along.

    Raises:
        AgentError: If the file cannot be read or holds something else.
    """
    file = Path(path).expanduser() if path else Path(__file__).parent / "prices.toml"
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
        prices = TypeAdapter(dict[str, Price]).validate_python(table)
    except OSError as error:
        raise AgentError(f"{file}: cannot be read ({error.strerror})") from error
    except ValidationError as error:
        first = error.errors()[0]
        field = field_path(first["loc"])
        raise AgentError(f"{file}: {field}: {first['msg']}; write input and output") from error
    except (ValueError, RecursionError) as error:
        raise AgentError(f"{file}: is not TOML ({error})") from error
    fitting = [name for name in prices if model.startswith(name)]
    if not fitting:
        return None
    found = prices[max(fitting, key=len)]
    return found if found.source else found.model_copy(update={"source": str(file)[:300]})
