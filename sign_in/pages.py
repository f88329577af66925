"""Pages on which users sign in, and look after their password and second factor."""

from base64 import b32encode
from http import HTTPStatus
from types import ModuleType
from typing import Any

from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.contrib.auth.views import (
    LoginView,
    LogoutView,
    PasswordChangeView,
    PasswordResetConfirmView,
)
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse, reverse_lazy
from django.utils.decorators import method_decorator
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_safe
from django_otp import user_has_device
from django_otp.plugins.otp_totp.models import TOTPDevice

from access.authentication import act_for
from access.client_address import get_client_address
from access.exceptions import SignInRefused
from sign_in.forms import SecondFactorForm, SignInForm
from sign_in.people import update_user

PASSWORD_BACKEND = "django.contrib.auth.backends.ModelBackend"  # noqa: S105
SIGN_IN_SECONDS = 900  # at the provider
NEXT = "strata-next"  # in the session: where to go after the sign-in


class SignInView(LoginView):
    template_name = "account/sign_in.html"
    authentication_form = SignInForm

    def form_valid(self, form: Any) -> HttpResponse:
        self.request.session.flush()  # remove what an unfinished OpenID sign-in left
        self.request.session.clear_expired()
        return super().form_valid(form)

    def form_invalid(self, form: Any) -> HttpResponse:
        response = super().form_invalid(form)
        if form.is_refused:
            response.status_code = HTTPStatus.FORBIDDEN
            user = User.objects.filter(username=form.cleaned_data["username"]).first()
            # Of an address, only some are not locked out: the rows of names that nobody has are
            # not many, either.
            if user is not None or get_client_address(self.request) is not None:
                act_for(self.request, user)
        return response

    def get_context_data(self, **more: Any) -> dict[str, Any]:
        return super().get_context_data(has_openid=bool(settings.STRATA_OIDC_ISSUER), **more)


class SignOutView(LogoutView):
    def post(self, request: HttpRequest, *args: Any, **options: Any) -> Any:
        if isinstance(request.user, User):
            act_for(request, request.user)
        return super().post(request, *args, **options)


@never_cache
@require_GET
def sign_in_with_openid(request: HttpRequest) -> HttpResponseBase:
    """Send the person to the OpenID provider."""
    openid = _load_openid()
    request.session[NEXT] = request.GET.get("next", "")
    if not request.user.is_authenticated:
        request.session.set_expiry(SIGN_IN_SECONDS)
    try:
        return openid.redirect_to_provider(
            request, request.build_absolute_uri(reverse("openid-return"))
        )
    except SignInRefused as error:
        return _show_refusal(request, error)


@never_cache
@require_GET
def return_from_openid(request: HttpRequest) -> HttpResponseBase:
    """Sign the person in who comes back from the OpenID provider."""
    openid = _load_openid()
    try:
        user = update_user(openid.read_claims(request))
    except SignInRefused as error:
        if error.user is not None:
            act_for(request, error.user)
        return _show_refusal(request, error)
    target = request.session.pop(NEXT, "")
    login(request, user, backend=PASSWORD_BACKEND)
    act_for(request, user)
    request.session.set_expiry(settings.STRATA_OIDC_SESSION_SECONDS)
    request.session.clear_expired()
    is_same_site = url_has_allowed_host_and_scheme(
        target, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return HttpResponseRedirect(target if is_same_site else reverse(settings.LOGIN_REDIRECT_URL))


def _load_openid() -> ModuleType:
    """Imported when it is needed, because Authlib takes a quarter of a second to import."""
    if not settings.STRATA_OIDC_ISSUER:
        raise Http404
    from sign_in import openid

    return openid


def _show_refusal(request: HttpRequest, error: SignInRefused) -> HttpResponse:
    context = {"form": SignInForm(request), "has_openid": True, "refusal": str(error)}
    return render(request, "account/sign_in.html", context, status=403)


@never_cache
@login_required
@require_safe
def account(request: HttpRequest) -> HttpResponse:
    assert isinstance(request.user, User)
    context = {
        "has_password": request.user.has_usable_password(),
        "has_second_factor": user_has_device(request.user),
        "applications": request.user.authorizations.valid().exclude(access_digest=""),
    }
    return render(request, "account/account.html", context)


@method_decorator(never_cache, "dispatch")
class ChangePasswordView(PasswordChangeView):
    template_name = "account/account_form.html"
    success_url = reverse_lazy("account")
    extra_context = {"heading": "Change your password"}


class SetPasswordView(PasswordResetConfirmView):
    """Whoever has the link sets the password of the person for whom it was made, once."""

    template_name = "account/account_form.html"
    success_url = reverse_lazy("sign-in")
    extra_context = {"heading": "Set your password"}

    def form_valid(self, form: Any) -> HttpResponse:
        act_for(self.request, form.user)
        return super().form_valid(form)


@never_cache
@login_required
@require_http_methods(["GET", "POST"])
def second_factor(request: HttpRequest) -> HttpResponse:
    """Set up an app that shows codes."""
    import segno

    assert isinstance(request.user, User)
    if user_has_device(request.user) or not request.user.has_usable_password():
        return redirect("account")
    device, _ = TOTPDevice.objects.get_or_create(user=request.user, confirmed=False, name="app")
    form = SecondFactorForm(device, request.POST or None)
    if form.is_valid():
        device.confirmed = True
        device.save()
        return redirect("account")
    picture = segno.make(device.config_url).svg_data_uri(scale=5, border=2)
    context = {
        "heading": "Set up a second factor",
        "form": form,
        "picture": picture,
        "secret": b32encode(device.bin_key).decode(),
    }
    return render(request, "account/account_form.html", context)
