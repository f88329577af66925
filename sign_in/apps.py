from core.apps import StrataApp


class SignInConfig(StrataApp):
    name = "sign_in"
    urls = "sign_in.urls"
    # They fetch the metadata of an application, and ask the OpenID provider, while a person waits.
    slow_paths = frozenset({"/oauth/authorize", "/sign-in/openid/", "/sign-in/openid/return/"})
