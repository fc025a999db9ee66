# Installs the build into WORK_DIR, then builds and runs the example against it, as a user of the library would.
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    string(REPLACE ";" " " command "${ARGV}")
    message(FATAL_ERROR "${command} failed (${code}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
run(${CMAKE_COMMAND} --install ${BINARY_DIR} --prefix ${WORK_DIR}/prefix)
run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE_DIR}/examples/train_and_evaluate -B ${WORK_DIR}/build
    -DCMAKE_PREFIX_PATH=${WORK_DIR}/prefix -DCMAKE_CXX_COMPILER=${COMPILER})
run(${CMAKE_COMMAND} --build ${WORK_DIR}/build)
run(${CMAKE_COMMAND} -E chdir ${WORK_DIR} ${WORK_DIR}/build/train_and_evaluate
    training.epochs=1 corpus.train=100 corpus.val=20 model.width=16 model.layers=1)
if(NOT output MATCHES "epoch 1: perplexity [0-9.]+, seen-only [0-9.]+")
  message(FATAL_ERROR "the example printed: ${output}")
endif()
run(${WORK_DIR}/prefix/bin/semfuse inspect ${WORK_DIR}/model.safetensors)
if(NOT output MATCHES "a semfuse model")
  message(FATAL_ERROR "the installed program printed: ${output}")
endif()
