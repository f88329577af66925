"""Routes of the pages on which users sign in, and by which applications get access."""

from django.urls import include, path
from django.views.generic import RedirectView

from sign_in import pages

urlpatterns = [
    path("sign-in/", pages.SignInView.as_view(), name="sign-in"),
    path("sign-in/openid/", pages.sign_in_with_openid, name="openid"),
    path("sign-in/openid/return/", pages.return_from_openid, name="openid-return"),
    path("account/", pages.account, name="account"),
    path("account/password/", pages.ChangePasswordView.as_view(), name="change-password"),
    path("set-password/<uidb64>/<token>/", pages.SetPasswordView.as_view(), name="set-password"),
    path("account/second-factor/", pages.second_factor, name="second-factor"),
    path("account/sign-out/", pages.SignOutView.as_view(), name="sign-out"),
    # One page for all, with lock-out and second factor.
    path("admin/login/", RedirectView.as_view(pattern_name="sign-in", query_string=True)),
    path("", include("sign_in.oauth.urls")),
]
