"""Forms of the pages on which users sign in and look after their account."""

from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm
from django_otp import match_token, user_has_device
from django_otp.plugins.otp_totp.models import TOTPDevice

CODE_ATTRIBUTES = {"autocomplete": "one-time-code", "inputmode": "numeric"}


class SignInForm(AuthenticationForm):
    """Name and password; then a code, if the password is right and the user has set up a second
    factor."""

    code = forms.CharField(
        required=False, max_length=16, widget=forms.TextInput(attrs=CODE_ATTRIBUTES)
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if not self.data.get("code"):
            self.fields["code"].widget = forms.HiddenInput()

    is_refused = False  # the password or the code is wrong

    def get_invalid_login_error(self) -> forms.ValidationError:
        self.is_refused = True
        return super().get_invalid_login_error()

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean()
        user = self.get_user()
        if user is not None and user_has_device(user):
            self.fields["code"].widget = forms.TextInput(attrs={**CODE_ATTRIBUTES, "autofocus": ""})
            self.fields["password"].widget.render_value = True
            if not cleaned["code"]:
                raise forms.ValidationError("Enter the code that your app shows.")
            if match_token(user, cleaned["code"]) is None:
                self.is_refused = True
                raise forms.ValidationError(
                    "This code is wrong, was used before, or came too soon after a wrong one."
                )
        return cleaned


class SecondFactorForm(forms.Form):
    """Confirms that the user's app has the secret of a new device."""

    code = forms.CharField(max_length=16, widget=forms.TextInput(attrs=CODE_ATTRIBUTES))

    def __init__(self, device: TOTPDevice, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.device = device

    def clean_code(self) -> str:
        code: str = self.cleaned_data["code"]
        if not self.device.verify_token(code):
            raise forms.ValidationError("This code is wrong. Wait for the next one.")
        return code
