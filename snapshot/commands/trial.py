"""`snapshot trial`: how well a model reads pages, by asking it; what that costs is said before it is
spent."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snapshot.commands._arguments import LIKE, positive
from snapshot.commands._console import DONE, FAILED, save, say, tell
from snapshot.commands._progress import progress
from snapshot.commands._request import APIS
from snapshot.commands._table import Column, folded, paragraph, table
from snapshot.errors import SnapshotError

if TYPE_CHECKING:
    from snapshot.models.profile import Price
    from snapshot.trial.arms import Arm
    from snapshot.trial.plan import Plan
    from snapshot.trial.results import ArmResult, Results

__all__ = ["fill"]

_USUAL = 1100  # output tokens that an answer is expected to have


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the command's parser."""
    parser.description = (
        "Asks a model about pages with planted strings, in several cells and faces: what it copies, what it "
        "gets wrong, what it says it cannot read. Without --budget nothing is sent: it prints what would be. "
        "A trial that was stopped goes on with the same command. `trial score DIR` prints what was found, "
        "`trial rows DIR` writes it as rows of a layout file. Keys come from the environment; wants "
        "snapshot-pages[trial]."
    )
    parser.epilog = (
        "examples: snapshot trial gemini-3.8-flash; snapshot trial gemini-3.8-flash --budget 0.10 --stage 1; "
        "snapshot trial my-qwen --like qwen3.8-max --base-url http://localhost:8000/v1 --budget 0"
    )
    parser.add_argument("what", metavar="MODEL|score|rows", help="the model to ask, or what to do with DIR")
    parser.add_argument("folder", metavar="DIR", nargs="?", type=Path, help="the trial's folder: score, rows")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="the trial's folder (MODEL.trial); of rows, the file",
    )
    asking = parser.add_argument_group("asking")
    asking.add_argument(
        "--budget", metavar="USD", type=_money, help="the most that all calls may cost together"
    )
    asking.add_argument("--stage", type=int, choices=(1,), default=0, help="2 pages of 3 arms, and no more")
    asking.add_argument(
        "--arm", metavar="NAME", action="append", dest="arms",
        help="an arm: FACE, FACE:CELLS, FACE/COLUMNS, FACE/lines or FACE=FONTFILE (default: nine)",
    )  # fmt: skip
    asking.add_argument("--pages", metavar="N", type=positive, default=8, help="pages of each arm (8)")
    asking.add_argument("--seed", metavar="N", type=int, default=1, help="of texts and letters (1)")
    asking.add_argument("--api", choices=APIS, help="the API to speak")
    asking.add_argument("--base-url", metavar="URL", default="", help="a server that speaks OpenAI's chat")
    asking.add_argument(
        "--key-env", metavar="NAME", default="", help="the environment's variable with the key"
    )
    asking.add_argument("--like", metavar="MODEL", help=LIKE)
    asking.add_argument(
        "--gateway", metavar="NAME", help="who carries the model, where its id does not say so"
    )
    asking.add_argument("--price", metavar="IN,OUT", type=_price, help="USD per million tokens")
    asking.add_argument(
        "--reasoning", metavar="WORD", default="", help="how much to think, in the API's word"
    )
    asking.add_argument(
        "--answer-scale", metavar="N", type=positive, default=1,
        help="times the usual longest answer, for models that think before they answer (1)",
    )  # fmt: skip
    found = parser.add_argument_group("score and rows")
    found.add_argument("--offline", action="store_true", help="score: put offline readers beside the model")
    found.add_argument(
        "--reader", metavar="MODULE:FUNCTION", action="append", dest="readers", default=[],
        help="score: an offline reader of your own, a function of a page's grey values and its cell",
    )  # fmt: skip
    found.add_argument("--source", metavar="WHO", default="", help="rows: who made the trial")
    parser.set_defaults(run=_run)


def _money(text: str) -> Decimal:
    """Argument type: USD."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        raise argparse.ArgumentTypeError(f"{text!r} is no amount, as in 2.50") from None
    if not value.is_finite() or value < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no amount, as in 2.50")
    return value


def _price(text: str) -> tuple[Decimal, Decimal]:
    """Argument type: two prices."""
    parts = text.split(",")
    if len(parts) != 2:
        raise argparse.ArgumentTypeError(f"{text!r} is no pair of prices, as in 2,10")
    return _money(parts[0]), _money(parts[1])


def _run(arguments: argparse.Namespace) -> int:
    if arguments.what in ("score", "rows"):
        folder = arguments.folder
        if folder is None:
            raise SnapshotError(f"which trial? snapshot trial {arguments.what} DIR")
        return _score(folder, arguments) if arguments.what == "score" else _rows(folder, arguments)
    if arguments.folder is not None:
        raise SnapshotError(f"{arguments.folder}: the trial's folder is named by -o")
    with progress("planning"):
        plan = _planned(arguments)
    if arguments.budget is None:
        _tell_plan(plan)
        return DONE
    return _carry_out(plan, arguments)


def _planned(arguments: argparse.Namespace) -> Plan:
    from snapshot.pages.layout import layout_for
    from snapshot.trial.arms import arm_of, default_arms
    from snapshot.trial.plan import plan_of

    layout = layout_for(arguments.what, gateway=arguments.gateway, like=arguments.like)
    arms: tuple[Arm, ...]
    arms = tuple(arm_of(name, layout) for name in arguments.arms) if arguments.arms else default_arms(layout)
    return plan_of(
        arguments.what,
        layout,
        arms,
        seed=arguments.seed,
        pages=arguments.pages,
        stage=arguments.stage,
        price=_price_of(arguments, layout.reader.price),
        reasoning=arguments.reasoning,
        scale=arguments.answer_scale,
    )


def _price_of(arguments: argparse.Namespace, known: Price | None) -> Price | None:
    from snapshot.models.profile import Price
    from snapshot.trial.senders import is_local

    if arguments.price is not None:
        return Price(arguments.price[0], output=arguments.price[1])
    if arguments.base_url and is_local(arguments.base_url):
        return Price(Decimal(), output=Decimal())  # a server of this machine
    return known


def _tell_plan(plan: Plan) -> None:
    calls = list(plan.calls())
    read = {call: plan.tokens(call) for call in calls}
    usual = sum((plan.usd(read[call], min(_USUAL, plan.longest(call))) for call in calls), Decimal())
    written = sum(min(_USUAL, plan.longest(call)) for call in calls)
    most = sum((plan.most(call) for call in calls), Decimal())
    first = [call for call in calls if call.page <= 2 and (call.arm in plan.first or call.what == "text")]
    columns = (
        Column("arm", right=False), Column("cell"), Column("columns"), Column("page"), Column("pages a text"),
        Column("tokens"), Column("first stage", right=False),
    )  # fmt: skip
    rows: list[tuple[str, ...]] = []
    for arm in sorted(plan.arms.values(), key=lambda arm: (arm.area, arm.name)):
        letter = next(letter for letter, other in plan.arms.items() if other is arm)
        tokens = arm.tokens(plan.text(1).source)
        rows.append((
            arm.name, "x".join(map(str, arm.layout.cell)), str(arm.columns),
            f"{arm.layout.width}x{arm.layout.height}", str(len(tokens)), f"{sum(tokens):,}",
            ("yes" if letter in plan.first else "") + (" resized by the provider" if arm.resized else ""),
        ))  # fmt: skip
    tell(
        f"{plan.model}, {plan.reader.title}: {len(plan.arms)} arms, "
        f"{plan.pages} pages of "
        f"{len(plan.text(1).source.text):,} characters each, seed {plan.seed}",
        *table(columns, rows),
        f"calls   {len(calls):,}, of which the first stage {len(first):,}",
        f"tokens  about {sum(read.values()):,} in, {written:,} out",
        f"price   about ${usual:.2f}; at most ${most:.2f}, were every answer as long as it may be",
        f"        first stage: at most ${sum((plan.most(call) for call in first), Decimal()):.2f}",
    )
    tell(*folded("Nothing was sent. --budget USD makes the calls, as far as that is sure to pay for them."))


def _carry_out(plan: Plan, arguments: argparse.Namespace) -> int:
    from snapshot.models.ids import model_key
    from snapshot.trial.run import run
    from snapshot.trial.senders import api_of, sender_for

    folder = arguments.output or Path(f"{model_key(plan.model)}.trial")
    api = arguments.api or api_of(plan.reader.provider, arguments.base_url)
    sender = sender_for(api, base_url=arguments.base_url, key_env=arguments.key_env)
    total = sum(1 for _ in plan.calls())
    made = 0

    def seen(*_: object) -> None:
        nonlocal made
        made += 1
        bar(made, total)

    with progress("asking") as bar:
        done = run(plan, sender, folder, budget=arguments.budget, seen=seen)
    dropped = f", {len(done.dropped)} of {len(plan.arms)} arms given up" if done.dropped else ""
    lost = f", {done.lost} calls lost (counted at their most)" if done.lost else ""
    tell(f"{folder}: {done.made} of {done.planned} calls answered{dropped}{lost}; ${done.spent:.4f} spent")
    if done.ended == "budget":
        say(
            f"note: the next call may cost ${done.needs:.4f}, which the budget of ${arguments.budget} has no "
            "room for; the same command with a larger --budget goes on"
        )
        return FAILED
    tell(f"snapshot trial score {folder} says what was found")
    return DONE


def _rows(folder: Path, arguments: argparse.Namespace) -> int:
    from snapshot.trial.results import results_of
    from snapshot.trial.rows import toml_of

    save(arguments.output or Path("-"), toml_of(results_of(folder), source=arguments.source).encode("utf-8"))
    return DONE


# --- score


def _score(folder: Path, arguments: argparse.Namespace) -> int:
    from snapshot.trial.results import results_of

    results = results_of(folder)
    _tell_results(results)
    if arguments.offline or arguments.readers:
        _tell_offline(results, arguments.readers, usual=arguments.offline)
    return DONE


def _share(right: int, of: int) -> str:
    return f"{right / of:.2f}" if of else "-"


def _tell_results(results: Results) -> None:
    from snapshot.trial.results import FLOOR, SILENT, counted
    from snapshot.trial.statistics import bounds, spearman

    columns = (
        Column("arm", right=False), Column("cell"), Column("exact"), Column("at least"), Column("silent"),
        Column("null"), Column("hashes"), Column("others"), Column("thirds", spare=True), Column("form"),
        Column("gist"),
        Column("invented"), Column("copy error"), Column("refused"), Column("cut off"),
    )  # fmt: skip
    rows: list[tuple[str, ...]] = []
    for arm in results.arms:
        right, of = counted(arm.exact)
        rate = arm.error_rate
        thirds = (counted([mark for mark in arm.exact if mark.third == third]) for third in range(3))
        rows.append((
            arm.name, f"{arm.cell[0]}x{arm.cell[1]}", f"{right} of {of}",
            f"{bounds(right, of)[0]:.2f}" if of else "-",
            _share(*counted(arm.exact, "wrong")), _share(*counted(arm.exact, "null")),
            _share(*counted(arm.hashes)), _share(*counted(arm.others)),
            " ".join(_share(*part) for part in thirds),
            _share(*counted(arm.structure)), _share(*counted(arm.gist)),
            f"{counted(arm.absent, 'wrong')[0]} of {len(arm.absent)}", "-" if rate is None else f"{rate:.4f}",
            str(arm.calls_that("refused")), str(arm.calls_that("cut off")),
        ))  # fmt: skip
    lost = f", {results.lost} lost" if results.lost else ""
    tell(
        f"{results.model}, seed {results.plan['seed']}: {results.calls} calls{lost}, ${results.spent:.4f}",
        *table(columns, rows),
    )
    asked = [arm for arm in results.arms if arm.exact]
    chosen = results.chosen
    if chosen is None:
        tell(f"no cell has a recall of {FLOOR} for certain, with silent errors of at most {SILENT:.0%}")
    else:
        tell(
            f"smallest cell with a recall of {FLOOR} for certain (90 %) and silent errors of at most "
            f"{SILENT:.0%}: {chosen.name}"
        )
    if asked:
        best = max(asked, key=lambda arm: counted(arm.exact)[0] / len(arm.exact))
        for arm in asked:
            if arm is not best:
                one, other, chance = results.pair(best, arm)
                tell(
                    f"  {best.name} beside {arm.name}: {one} strings right in the first alone, {other} in "
                    f"the second, p = {chance:.3f}"
                )
    recall = [counted(arm.exact)[0] / len(arm.exact) for arm in asked]
    ranks = spearman([float(arm.area) for arm in asked], recall)
    tell(f"pixels per character foretell the order of arms by {_number(ranks)} (Spearman)")
    tell(*_bills(results.arms))


def _bills(arms: tuple[ArmResult, ...]) -> Iterator[str]:
    for arm in arms:
        bill = arm.bill
        if bill is None:
            continue
        pages = ""
        if bill.pages_billed is not None:
            off = bill.pages_billed - bill.pages_predicted
            pages = f"; its pages {bill.pages_billed:,} and {bill.pages_predicted:,} ({off:+,})"
        yield f"billed  {arm.name}: {bill.billed:,} tokens, {bill.predicted:,} predicted{pages}"


def _number(value: float | None) -> str:
    return "nothing: there is no order" if value is None else f"{value:+.2f}"


def _tell_offline(results: Results, own: list[str], *, usual: bool) -> None:
    from snapshot.trial.offline import offline_readers, recalls
    from snapshot.trial.results import counted
    from snapshot.trial.statistics import calibrated, spearman

    readers = offline_readers(own, installed=usual)
    if not readers:
        say("note: no offline reader is installed: tesseract, or pip install 'snapshot-pages[ocr]'")
    asked = [arm for arm in results.arms if arm.exact]
    for name, reader in readers.items():
        with progress(f"reading by {name}") as bar:
            found = recalls(results, reader, seen=bar)
        shares: dict[str, Any] = {}
        for arm in asked:
            parts = [value for (letter, _), value in found.items() if letter == arm.letter]
            shares[arm.letter] = sum(right for right, _ in parts) / max(1, sum(of for _, of in parts))
        both = [arm for arm in asked if arm.letter in shares]
        ranks = spearman(
            [shares[arm.letter] for arm in both], [counted(arm.exact)[0] / len(arm.exact) for arm in both]
        )
        tell(f"{name}: Spearman over {len(both)} arms {_number(ranks)}")
        tell(
            *paragraph(
                "  recall " + ", ".join(f"{arm.name} {shares[arm.letter]:.2f}" for arm in both), indent="  "
            )
        )
        fit = calibrated(results.cells(lambda arm, kind: found.get((arm.letter, kind), (0, 0))))  # noqa: B023
        if fit is None:
            tell("  nothing to calibrate by")
            continue
        said = ", ".join(
            f"{key} {value:+.2f} ± {fit.errors[key]:.2f}" for key, value in fit.coefficients.items()
        )
        tell(*paragraph(
            f"  logit P(exact) = a + b logit(recall) + c log(pixels per character) + d log(columns): {said}",
            indent="  ",
        ))  # fmt: skip
