from core.apps import StrataApp


class AnswersConfig(StrataApp):
    name = "answers"
