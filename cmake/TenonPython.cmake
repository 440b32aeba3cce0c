# Finds an interpreter that the Python package can be built and tested for: with its headers and NumPy. Sets
# tenon_python_missing to what is not there, in words; empty: all is.
#
# Python_EXECUTABLE says which; else it is the first of python3 on the path and Debian's own that has both.

set(tenon_python_missing)
set(probe "import sysconfig, os, numpy; exit(not os.path.exists(os.path.join(sysconfig.get_path('include'), 'Python.h')))")
find_program(TENON_PYTHON3 python3)
mark_as_advanced(TENON_PYTHON3)
foreach(candidate ${TENON_PYTHON3} /usr/bin/python3)
  if(NOT Python_EXECUTABLE)
    execute_process(COMMAND ${candidate} -c "${probe}" RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
    if(NOT failed)
      set(Python_EXECUTABLE ${candidate} CACHE FILEPATH "The Python interpreter")
    endif()
  endif()
endforeach()
if(Python_EXECUTABLE)
  find_package(Python 3.9 COMPONENTS Interpreter Development.Module NumPy)
  foreach(component Interpreter Development.Module NumPy)
    if(NOT Python_${component}_FOUND)
      string(APPEND tenon_python_missing " ${component}")
    endif()
  endforeach()
else()
  set(tenon_python_missing "a python3 with its headers and NumPy (Debian: python3-dev, python3-numpy)")
endif()
