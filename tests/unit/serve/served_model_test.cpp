#include "serve/served_model.h"

#include <gtest/gtest.h>

#include "support/small_backbone.h"
#include "support/temporary_folder.h"

namespace semfuse {
namespace {

TEST(ServedModel, OffersNoMoreTokensThanAnImportedModelHasPositionsFor) {
  const TemporaryFolder folder;
  BackboneSpec spec = small_backbone_spec(BackboneFamily::llama);
  spec.bos = 5;
  spec.adds_bos = true;
  save_backbone(small_backbone(spec, 3), folder / "model.safetensors");
  EXPECT_EQ(ServedModel("small", folder.path(), 1, 2048).context(), spec.context - 1);
  EXPECT_EQ(ServedModel("small", folder.path(), 1, 20).context(), 20U);
}

}  // namespace
}  // namespace semfuse
