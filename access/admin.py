"""Admin for users, for the rights of their groups, and for what they allowed applications."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.db.models import QuerySet
from django.http import HttpRequest
from django_otp.plugins.otp_static import admin as static_admin  # noqa: F401  # unregistered here
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp import admin as totp_admin  # noqa: F401
from django_otp.plugins.otp_totp.models import TOTPDevice

from access.grants import clean_group_names, list_index_names
from access.models import Authorization, GroupRights
from core.exceptions import StrataError


class LinesField(forms.CharField):
    """A list of names, one on each line; None if it is empty."""

    widget = forms.Textarea(attrs={"rows": 4})

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, **kwargs)

    def clean(self, value: Any) -> list[str] | None:
        text: str = super().clean(value)
        names = [line.strip() for line in text.splitlines()]
        return [name for name in names if name] or None

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value


class GroupRightsForm(forms.ModelForm):
    indexes = LinesField(help_text="One name on each line; empty for all indexes.")
    groups = LinesField(help_text="One group on each line; empty for all documents.")

    class Meta:
        model = GroupRights
        fields = ["scope", "indexes", "groups", "is_filled_from_claim"]

    def clean_groups(self) -> list[str] | None:
        groups: list[str] | None = self.cleaned_data["groups"]
        try:
            return None if groups is None else clean_group_names(groups)
        except StrataError as error:
            raise forms.ValidationError(error.detail) from None

    def clean_indexes(self) -> list[str] | None:
        indexes: list[str] | None = self.cleaned_data["indexes"]
        known = list_index_names()
        if unknown := [name for name in indexes or () if name not in known]:
            raise forms.ValidationError(
                f"There is no index named {unknown[0]!r}; allowed: {', '.join(known)}."
            )
        return indexes


class ChangedBySuperusers:
    """Others may be allowed to view. Whoever changes users, their groups or passwords, or the
    permissions and rights of a group, could otherwise take every right."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_superuser)

    has_change_permission = has_delete_permission = has_add_permission


class GroupRightsInline(ChangedBySuperusers, admin.StackedInline):
    model = GroupRights
    form = GroupRightsForm


admin.site.unregister(Group)


@admin.register(Group)
class GroupWithRightsAdmin(ChangedBySuperusers, GroupAdmin):
    inlines = [GroupRightsInline]


admin.site.unregister(User)
# A user sets up the second factor on the page of the account.
admin.site.unregister([TOTPDevice, StaticDevice])


@admin.register(User)
class UserWithSecondFactorAdmin(ChangedBySuperusers, UserAdmin):
    actions = ["remove_second_factor"]

    @admin.action(description="Remove the second factor", permissions=["change"])
    def remove_second_factor(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        for kind in (TOTPDevice, StaticDevice):
            kind.objects.filter(user__in=queryset).delete()
        self.message_user(request, "The next sign-in needs the password only.", messages.SUCCESS)


@admin.register(Authorization)
class AuthorizationAdmin(admin.ModelAdmin):
    """Deleting one revokes the application's tokens."""

    list_display = ["name", "user", "scope", "created_at", "expires_at"]
    list_filter = ["scope"]
    search_fields = ["name", "user__username"]
    readonly_fields = ["name", "client_id", "user", "scope", "resource", "created_at", "expires_at"]
    exclude = ["redirect_uri", "code_challenge"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False
