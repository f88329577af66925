from django.urls import path
from rest_framework.routers import SimpleRouter

from indexing.viewsets import IndexViewSet, SweepView, VerifyView

router = SimpleRouter()
router.register("indexes", IndexViewSet, basename="index")

urlpatterns = [
    path("verify/", VerifyView.as_view(), name="verify"),
    path("sweep/", SweepView.as_view(), name="sweep"),
    *router.urls,
]
