"""Handlers of the requests about reviews, and the wire shapes of reviews."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import asdict, replace

from fileops.core.presentation.failures import failure_message
from fileops.core.presentation.phrases import clean_reason
from fileops.model.approval import (
    ApprovalRequest,
    Decision,
    FileDecision,
    Modify,
    Once,
    Reject,
    SomeChanges,
    SomeFiles,
)
from fileops.model.errors import FileOpsError
from fileops.model.internal_errors import NotTheCells
from fileops.model.review import CellsView, Decider, EndedReview
from fileops.rpc.decode import InvalidParams
from fileops.service.hub.names import SessionNames
from fileops.service.review.cells import previous_text_by_cells, text_of_notebook, view_by_cells
from fileops.service.review.client import PersonReviews, fault_of_text
from fileops.service.review.queue import DecisionResult, WaitingReview
from fileops.wire import reviews as wire
from fileops.wire.failures import rebased_details
from fileops.wire.notebooks import cell_ui_extras
from fileops.wire.types import ErrorInfo

if TYPE_CHECKING:
    from fileops.service.fileops import FileOps

MAX_TEXTS_CHARS = 16_000_000  # of all texts in one answer; later reviews' texts are left out
DID_CHANGE_REVIEWS = "fileops/didChangeReviews"  # to clients with the capability `reviews`


def _reviews(service: "FileOps") -> PersonReviews:
    if service.reviews is None:
        raise RuntimeError("this client has no user who decides")
    return service.reviews


async def list_reviews(service: "FileOps", params: wire.ReviewsParams) -> wire.ReviewsResult:
    reviews = list(_reviews(service).list_waiting())
    if params.review_ids is not None:
        wanted = set(params.review_ids)
        reviews = [review for review in reviews if review.review_id in wanted]
    return wire.ReviewsResult(reviews=reviews_of(reviews, service.names, with_texts=params.include_texts is not False))


async def decide_review(service: "FileOps", params: wire.DecideReviewParams) -> wire.DecideReviewResult:
    """Decide a review. Raises: InvalidParams; nothing has been decided then."""
    reviews = _reviews(service)
    review = reviews.queue.get(params.review_id)
    decision: Decision = Once()
    if review is not None and params.revision in {None, review.revision}:
        decision = _decision(params, review, reviews)
    result = await reviews.queue.decide(params.review_id, decision, reviews.person, revision=params.revision)
    return wire.DecideReviewResult(
        review_id=result.review_id,
        state=result.state,
        outcome=result.outcome,
        by=_to_decided_by(result.by),
        reason=result.reason,
        error=_error(result.error),
    )


async def decide_reviews(service: "FileOps", params: wire.DecideReviewsParams) -> wire.DecideReviewsResult:
    """Decide several reviews. Raises: InvalidParams; nothing has been decided then."""
    reviews = _reviews(service)
    if params.review_ids is None:
        chosen, results = list(reviews.list_waiting()), list[DecisionResult]()
    else:
        found = [(review_id, reviews.queue.get(review_id)) for review_id in dict.fromkeys(params.review_ids)]
        chosen = [review for _, review in found if review is not None]
        results = [
            await reviews.queue.decide(review_id, Reject(), reviews.person)  # too late, or unknown
            for review_id, review in found
            if review is None
        ]
    chosen = [review for review in chosen if _matches(review, params, service)]
    if params.outcome != "reject":  # no change is left to approve, so the person has to look
        results += [_not_approved(review) for review in chosen if not review.asked.is_approvable]
        chosen = [review for review in chosen if review.asked.is_approvable]
    decisions = [(review, _bulk_decision(params, review, reviews)) for review in chosen]
    results += await reviews.queue.decide_all(decisions, reviews.person)
    return wire.DecideReviewsResult(
        decided=[
            wire.DecidedReview(review_id=result.review_id, error=_error(result.error))
            for result in results
            if result.reason is None
        ],
        left=[
            wire.LeftReview(review_id=result.review_id, reason=result.reason)
            for result in results
            if result.reason is not None
        ],
    )


def _bulk_decision(params: wire.DecideReviewsParams, review: WaitingReview, reviews: PersonReviews) -> Decision:
    match params.outcome:
        case "reject":
            return Reject(clean_reason(params.reason))
        case "accept_always":
            return reviews.always_for(review)
        case "accept":
            return Once()


def _not_approved(review: WaitingReview) -> DecisionResult:
    return DecisionResult(review_id=review.review_id, state="waiting", reason="review_changed")


def _matches(review: WaitingReview, params: wire.DecideReviewsParams, service: "FileOps") -> bool:
    if params.session_id is not None and review.session.session_id != service.names.resolve(params.session_id):
        return False
    given = {file.file_path for file in review.asked.files or (review.asked,)}
    return params.file_path is None or params.file_path in {*given, *review.asked.paths}


def _decision(params: wire.DecideReviewParams, review: WaitingReview, reviews: PersonReviews) -> Decision:
    """Raises: InvalidParams, if the decision does not fit the review."""
    text, change_ids = params.text, params.change_ids
    if review.asked.files:
        return _decision_about_set(params, review, reviews)
    if params.files is not None:
        raise InvalidParams("is for the review of a change set", ".files")
    if text is not None and change_ids is not None:
        raise InvalidParams("cannot be combined with text", ".change_ids")
    if params.outcome == "modify":
        if text is None:
            raise InvalidParams("is required for the outcome modify", ".text")
        return Modify(_text_of_file(review.asked, text, ".text"), clean_reason(params.reason))
    if text is not None:
        raise InvalidParams("goes with the outcome modify only", ".text")
    if params.outcome == "reject":
        if change_ids is not None:
            raise InvalidParams("does not go with the outcome reject, which drops all changes", ".change_ids")
        return Reject(clean_reason(params.reason))
    known = [change.id for change in review.asked.changes]
    if not known:
        raise InvalidParams("must be modify or reject: this edit has no change that could be approved", ".outcome")
    always = reviews.always_for(review) if params.outcome == "accept_always" else None
    if change_ids is None:
        return always or Once()
    for index, change_id in enumerate(change_ids):
        if change_id not in known:
            raise InvalidParams("is not a change of this review", f".change_ids[{index}]")
    accepted = tuple(change_id for change_id in known if change_id in change_ids)
    return SomeChanges(accepted, always, clean_reason(params.reason))


def _decision_about_set(params: wire.DecideReviewParams, review: WaitingReview, reviews: PersonReviews) -> Decision:
    """Raises: InvalidParams."""
    if params.text is not None or params.change_ids is not None:
        raise InvalidParams("does not fit a change set, whose files are decided in `files`")
    if params.outcome == "reject":
        if params.files is not None:
            raise InvalidParams("does not go with the outcome reject, which drops all changes", ".files")
        return Reject(clean_reason(params.reason))
    asked = {file.file_path: file for file in review.asked.files}
    decided: dict[str, FileDecision] = {}
    for index, file in enumerate(params.files or ()):
        place = f".files[{index}]"
        if file.file_path not in asked or file.file_path in decided:
            raise InvalidParams("is not a file of this review, or is named twice", f"{place}.file_path")
        decided[file.file_path] = _file_decision(file, asked[file.file_path], params.outcome, place)
    left = [file for file in review.asked.files if not file.is_approvable and file.file_path not in decided]
    if left:
        raise InvalidParams(f"must decide about {left[0].file_path}, of which nothing is left to approve", ".files")
    always = reviews.always_for(review) if params.outcome == "accept_always" else None
    if not decided:
        return always or Once()
    return SomeFiles(tuple(decided.values()), always, clean_reason(params.reason))


def _file_decision(file: FileDecision, asked: ApprovalRequest, outcome: wire.Outcome, place: str) -> FileDecision:
    """Raises: InvalidParams."""
    if file.text is not None and (file.change_ids is not None or outcome != "modify"):
        raise InvalidParams("goes with the outcome modify only, and without change_ids", f"{place}.text")
    if file.text is not None and asked.change.operation == "delete":
        raise InvalidParams("does not fit a file that is deleted", f"{place}.text")
    if file.text is not None:
        return replace(file, text=_text_of_file(asked, file.text, f"{place}.text"))
    if file.change_ids is None:
        return file
    if not file.change_ids and outcome != "modify":
        raise InvalidParams("may be empty with the outcome modify only", f"{place}.change_ids")
    known = [change.id for change in asked.changes]
    for index, change_id in enumerate(file.change_ids):
        if change_id not in known:
            raise InvalidParams("is not a change of this file", f"{place}.change_ids[{index}]")
    return replace(file, change_ids=tuple(change_id for change_id in known if change_id in file.change_ids))


def _text_of_file(asked: ApprovalRequest, text: str, place: str) -> str:
    """Return a person's text as the file will have it: that of a notebook may be one of its cells.

    Raises: InvalidParams. After an edit of cells, nothing may be written that has none.
    """
    try:
        text = text_of_notebook(asked, text)
    except NotTheCells as wrong:
        raise InvalidParams(str(wrong), place) from wrong
    if (fault := fault_of_text(asked, text)) is not None:
        raise InvalidParams(failure_message(fault), place)
    return text


# --- shapes on the wire ------------------------------------------------------------------------------------------


def reviews_of(reviews: Iterable[WaitingReview], names: SessionNames, *, with_texts: bool) -> list[wire.Review]:
    """Return the reviews. Texts of later reviews are left out once earlier ones fill an answer."""
    left = MAX_TEXTS_CHARS if with_texts else 0
    listed: list[wire.Review] = []
    for review in reviews:
        question = review.asked
        left -= sum(
            len(file.original_text or "") + len(file.proposed_text or "") for file in question.files or (question,)
        )
        listed.append(review_of(review, names, with_texts=left >= 0))
    return listed


def review_of(review: WaitingReview, names: SessionNames, *, with_texts: bool = True) -> wire.Review:
    question = names.show_question(review.asked)
    shown = wire.Review(
        review_id=review.review_id,
        session=replace(review.session, session_id=names.local(review.session.session_id)),
        asked_at=review.asked_at,
        expires_at=review.expires_at,
        title=question.title,
        description=question.description,
        revision=review.revision,
        n_editors=review.n_views,
    )
    if question.files:
        return replace(shown, files=[_file_of(file, with_texts=with_texts) for file in question.files])
    file = asdict(_file_of(question, with_texts=with_texts))
    del file["new_path"]  # no single edit renames
    return replace(shown, **file)


def _file_of(question: ApprovalRequest, *, with_texts: bool) -> wire.ReviewFile:
    view = view_by_cells(question) if with_texts else None
    return wire.ReviewFile(
        file_path=question.file_path,
        new_path=msgspec.UNSET if question.new_path is None else question.new_path,
        operation=question.change.operation,
        is_protected=question.is_protected,
        diff=question.change.unified,
        changes=msgspec.convert(question.changes, list[wire.ReviewChange], from_attributes=True),
        original_text=question.original_text if with_texts else None,
        proposed_text=question.proposed_text if with_texts else None,
        rebased=None if question.rebased is None else {**rebased_details(question.rebased)},
        previous=question.previous,
        cells=cell_ui_extras(question.change.cells, question.file_path) or msgspec.UNSET,
        by_cells=msgspec.UNSET if view is None else _by_cells(view, question),
    )


def _by_cells(view: CellsView, question: ApprovalRequest) -> wire.ReviewByCells:
    return wire.ReviewByCells(
        original_text=view.original_text,
        proposed_text=view.proposed_text,
        changes=msgspec.convert(view.changes, list[wire.ReviewChange], from_attributes=True),
        previous_text=previous_text_by_cells(question),
    )


def did_change_params(
    opened: Sequence[WaitingReview], closed: Sequence[EndedReview], names: SessionNames
) -> wire.DidChangeReviewsParams:
    return wire.DidChangeReviewsParams(
        opened=[review_of(review, names) for review in opened],
        closed=[
            wire.ClosedReview(review_id=end.review_id, state=end.state, outcome=end.outcome, by=_to_decided_by(end.by))
            for end in closed
        ],
    )


def _to_decided_by(person: Decider | None) -> wire.DecidedBy | None:
    return None if person is None else wire.DecidedBy(kind="person", client=person.client)


def _error(error: FileOpsError | None) -> ErrorInfo | None:
    return None if error is None else ErrorInfo(code=error.code, message=failure_message(error))
