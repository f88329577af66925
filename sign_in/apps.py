from core.apps import StrataApp


class SignInConfig(StrataApp):
    name = "sign_in"
    urls = "sign_in.urls"
